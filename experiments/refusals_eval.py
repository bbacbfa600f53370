import json,struct,subprocess,sys,tarfile,re
sys.path.insert(0,'/work/main')
from collections import Counter
from tools.text_model.corpus import pages as corpus_pages, CORPORA
t=lambda s: struct.pack('<I',len(s.encode('utf8','replace')))+s.encode('utf8','replace')
def run(rows):
    data=b''.join(struct.pack('<II',r.get('status',200),len(r.get('headers') or {}))+b''.join(t(k.lower())+t(str(v)) for k,v in (r.get('headers') or {}).items())+t(r['html']) for r in rows)
    return [l.split('\t') for l in subprocess.run(['/work/main/target/release/examples/refusals'],input=data,capture_output=True,check=True).stdout.decode().splitlines()]
hit=lambda k: k not in('-','needs-script')
for name in ('','_b','_c'):
    rows=[json.loads(l) for l in open(f'/tmp/refusal_set{name}.jsonl')]
    out=run(rows)
    ref=[(r,o) for r,o in zip(rows,out,strict=True) if r['label']!='content']; low=[(r,o) for r,o in ref if r['status']<400]
    fa=[(r['shape'],o) for r,o in zip(rows,out) if r['label']=='content' and hit(o[0])]
    print(f"set{name or '_a'}: recall {sum(hit(o[0]) for _,o in ref)/len(ref):.3f} status<400 {sum(hit(o[0]) for _,o in low)/len(low):.3f} ({len(low)}) false {len(fa)} of {len(rows)-len(ref)}")
    if '-v' in sys.argv:
        for r,o in low:
            if not hit(o[0]): print('   miss',r['label'],r['shape'],r['lang'])
        for f in fa: print('   FA',f)
src=open('/tmp/eyes5/r2.py').read().split('for name,(t,b)')[0].replace('import lycosa,re\nx=lycosa.extract','')
exec(src)
rows=[]; names=[]

ns={}; exec(src,ns)
for name,(ti,b) in ns['pages'].items():
    for h,n,f in [("","",""),("",ns['nav'],ns['foot']),(ns['head'].format(d=ti+" and what you can do about it",t=ti),ns['nav'],ns['foot'])]:
        rows.append({'html':f"<html lang=en><title>{ti}</title>{h}<body>{n}<main>{b}</main>{f}"}); names.append(name)
out=run(rows); bad=[(names[i],i%3,o[0]) for i,o in enumerate(out) if hit(o[0])]
print('hand', Counter(b[1] for b in bad), len(rows)//3, *(f'{n}/{i}:{k}' for n,i,k in bad if i==2))
ps=[{'html':p.html.decode('utf8','replace'),'n':p.name} for p in corpus_pages()]
with tarfile.open(CORPORA.parent/'scrapy-bench-pages/sites.tar.gz') as f:
    ps+=[{'html':f.extractfile(m).read().decode('utf8','replace'),'n':m.name} for m in f if m.name.endswith(('.html','.htm'))]
out=run(ps); bad=[(p['n'],o) for p,o in zip(ps,out,strict=True) if hit(o[0])]
print(len(ps),'real pages, false',len(bad),bad)
