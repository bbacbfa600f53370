import json,struct,subprocess,sys,hashlib,re
rows=[json.loads(l) for l in open('/tmp/refusal_set.jsonl')]
half=lambda r: 'dev' if hashlib.md5(r['shape'].encode()).digest()[0]%2 else 'test'
rows=[r for r in rows if r['status']<400 or r['label']=='content']
t=lambda s: struct.pack('<I',len(s.encode()))+s.encode()
data=b''.join(struct.pack('<II',r['status'],len(r.get('headers') or {}))+b''.join(t(k.lower())+t(str(v)) for k,v in (r.get('headers') or {}).items())+t(r['html']) for r in rows)
out=subprocess.run(['/work/k/target/release/examples/refusals'],input=data,capture_output=True,check=True).stdout.decode().splitlines()
for r,o in zip(rows,out):
    k=o.split('\t')[0]
    if r['label']!='content' and k in('-','needs-script') or (len(sys.argv)>1 and r['label']=='content' and k!='-'):
        h=re.sub(r'(?s)<(script|style).*?</\1>',' ',r['html']); ti=re.search(r'(?is)<title>(.*?)</title>',h); txt=re.sub(r'\s+',' ',re.sub(r'<[^>]+>',' ',h)).strip()
        print(r['label'],r['status'],r['shape'],r['lang'],'L',len(re.findall(r'<a [^>]*href',h)),'W',len(txt.split()),'| T:',(ti[1] if ti else '')[:50],'|',txt[:300], '>>',o if r['label']=='content' else '')
