import gzip,json,struct,subprocess
t=lambda s: struct.pack('<I',len(s.encode('utf8','replace')))+s.encode('utf8','replace')
for name in ('first','second','third','fourth'):
    rows=[json.loads(l) for l in gzip.open(f'/work/main/tests/fixtures/refusals/{name}.jsonl.gz')]
    data=b''.join(struct.pack('<II',r.get('status',200),len(r.get('headers') or {}))+b''.join(t(k.lower())+t(str(v)) for k,v in (r.get('headers') or {}).items())+t(r['html']) for r in rows)
    out=[l.split('\t')[0] for l in subprocess.run(['/work/main/target/release/examples/refusals'],input=data,capture_output=True,check=True).stdout.decode().splitlines()]
    hit=[o not in ('-','needs-script') for o in out]
    ref=[(r,h) for r,h in zip(rows,hit) if r['label']!='content']; low=[h for r,h in ref if r['status']<400]; neg=[h for r,h in zip(rows,hit) if r['label']=='content']
    print(name,'recall',round(sum(h for _,h in ref)/len(ref),4),'<400',round(sum(low)/len(low),4),'false',sum(neg),len(neg))
