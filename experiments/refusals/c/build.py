import json,random,collections
import lib
import r1,r2,r3,r4,r5,c1,c2,c3
O=lib.OUT; rnd=random.Random(99)
ref=[o for o in O if o['label']!='content']
target=round(.75*len(ref))
have=sum(o['status']==200 for o in ref)
rest=[o for o in ref if o['status']!=200]
# weighted sampling without replacement by softness
rest.sort(key=lambda o: rnd.random()**(1/max(o['_soft'],.02)**1.2), reverse=True)
for o in rest[:max(0,target-have)]:
    o['status']=200
    for k in ('Retry-After','WWW-Authenticate','cf-mitigated'): o['headers'].pop(k,None)
for o in O:
    if o['headers'] and o['label']!='content' and rnd.random()<.25: o['headers']={}
rnd.shuffle(O)
K=['label','shape','lang','status','headers','url','html']
with open('/tmp/refusal_set_c.jsonl','w',encoding='utf-8') as f:
    for o in O: f.write(json.dumps({k:o[k] for k in K},ensure_ascii=False)+'\n')
C=collections.Counter
print(len(O),len(ref),C(o['label'] for o in O))
print('shapes',len({o['shape'] for o in ref}),'content shapes',len({o['shape'] for o in O if o['label']=='content'}))
print('200 share',sum(o['status']==200 for o in ref)/len(ref),'chrome',sum(o['_chrome'] for o in ref)/len(ref))
print('ref lang',C(o['lang'] for o in ref)); print('con lang',C(o['lang'] for o in O if o['label']=='content'))
print('kinds',C(o.get('_kind') for o in O if o['label']=='content'))
for l in sorted({o['label'] for o in ref}): 
    s=[o for o in ref if o['label']==l]; print(l,len(s),'200:',sum(o['status']==200 for o in s),'chrome:',sum(o['_chrome'] for o in s),'en:',sum(o['lang']=='en' for o in s))
d=[k for k,v in C(o['html'] for o in O).items() if v>1]; print('dup html',len(d))
import re
def words(h):
    h=re.sub(r'(?is)<(script|style)\b.*?</\1>',' ',h); return len(re.sub(r'<[^>]+>',' ',h).split())
L=sorted(words(o['html']) for o in O if o['label']=='content'); M=sorted(words(o['html']) for o in ref)
print('words content',[L[int(len(L)*q)] for q in (0,.1,.25,.5,.75,.9)],L[-1],'ref',[M[int(len(M)*q)] for q in (0,.1,.25,.5,.75,.9)],M[-1])
