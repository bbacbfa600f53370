import json,hashlib,re,sys
rows=[json.loads(l) for l in open('/tmp/refusal_set.jsonl')]
half=lambda r: 'dev' if hashlib.md5(r['shape'].encode()).digest()[0]%2 else 'test'
lab=sys.argv[1]
for r in rows:
    if half(r)=='dev' and r['label']==lab and r['status']<400:
        h=re.sub(r'(?s)<(script|style).*?</\1>',' ',r['html']); t=re.search(r'(?is)<title>(.*?)</title>',h); txt=re.sub(r'<[^>]+>',' ',h); txt=re.sub(r'\s+',' ',txt).strip()
        print(r['shape'],r['lang'],'| links',len(re.findall(r'<a [^>]*href',h)),'pw','type="password"' in h,'| T:',(t[1] if t else '')[:60],'|',txt[:230])
