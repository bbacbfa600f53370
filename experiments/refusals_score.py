"""Judges refusals on the independent set. usage: refusals_score.py [dev|test|all] [-v]"""
import json, struct, subprocess, sys, hashlib
from collections import Counter
rows=[json.loads(l) for l in open('/tmp/refusal_set.jsonl')]
half=lambda r: 'dev' if hashlib.md5(r['shape'].encode()).digest()[0]%2 else 'test'
which=sys.argv[1] if len(sys.argv)>1 else 'all'
rows=[r for r in rows if which=='all' or half(r)==which]
data=b''
t=lambda s: struct.pack('<I',len(s.encode()))+s.encode()
for r in rows:
    h=r.get('headers') or {}
    data+=struct.pack('<II',r['status'],len(h))+b''.join(t(k.lower())+t(str(v)) for k,v in h.items())+t(r['html'])
out=subprocess.run(['/work/k/target/release/examples/refusals'],input=data,capture_output=True,check=True).stdout.decode().splitlines()
ok=Counter(); n=Counter(); told=Counter(); fa=[]; miss=[]
STATUS_SAYS={'not-found','server-error','login'}  # a status that says so is no page anyway
for r,o in zip(rows,out,strict=True):
    k,m=o.split('\t'); l=r['label']; n[l]+=1
    says=r['status']>=400
    if l=='content':
        if k not in('-','needs-script'): fa.append((r['shape'],k,m))
        else: ok[l]+=1
    else:
        hit=k not in('-','needs-script'); told[l]+=k==l
        good = hit or (says and l in STATUS_SAYS) or says
        ok[l]+=hit
        if not hit: miss.append((l,r['status'],r['shape'],r['lang'],k))
for l in n: print(f"{l:14} {ok[l]:4} of {n[l]:4}  same kind {told[l]}")
ref=[l for l in n if l!='content']
print('recall all', sum(ok[l] for l in ref)/sum(n[l] for l in ref)); 
r200=[(r,o) for r,o in zip(rows,out) if r['label']!='content' and r['status']<400]
print('recall of status 200', sum(o.split('\t')[0] not in('-','needs-script') for _,o in r200)/len(r200), len(r200))
print('false alarms',len(fa),'of',n['content'],fa[:40])
if '-v' in sys.argv:
    for m in miss: print('  miss',m)
