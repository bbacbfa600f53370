import struct,subprocess,sys,tarfile
sys.path.insert(0,'/work/k')
from tools.text_model.corpus import pages, CORPORA
ps=[(p.name,p.html.decode('utf8','replace')) for p in pages()]
with tarfile.open(CORPORA.parent/'scrapy-bench-pages/sites.tar.gz') as t:
    for m in t:
        if m.name.endswith(('.html','.htm')): ps.append((m.name,t.extractfile(m).read().decode('utf8','replace')))
t=lambda s: struct.pack('<I',len(s.encode('utf8','replace')))+s.encode('utf8','replace')
out=subprocess.run(['/work/k/target/release/examples/refusals'],input=b''.join(struct.pack('<II',200,0)+t(h) for _,h in ps),capture_output=True,check=True).stdout.decode().splitlines()
bad=[(n,o) for (n,_),o in zip(ps,out,strict=True) if not o.startswith('-') and not o.startswith('needs')]
print(len(ps),'real pages, false alarms',len(bad)); print(*bad,sep='\n')
