import sys, os, pathlib, json, shutil, logging
sys.path.insert(0,'/tmp/ovl')
logging.getLogger('werkzeug').setLevel(logging.ERROR)
os.environ.update(AWS_ACCESS_KEY_ID='x',AWS_SECRET_ACCESS_KEY='y',AWS_REGION='us-east-1')
sys.path.append('/tmp/ov/lib/python%d.%d/site-packages'%sys.version_info[:2])
from moto.server import ThreadedMotoServer
srv=ThreadedMotoServer(ip_address='127.0.0.1',port=0); srv.start()
host,port=srv.get_host_and_port()
import boto3
end=f'http://127.0.0.1:{port}'
s3=boto3.client('s3',endpoint_url=end); s3.create_bucket(Bucket='bucket')
from lycosa import _core
from lycosa.fetch import ScriptedFetch
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages
from lycosa.sink import SinkJob
from lycosa.store.outputs import sink_of
S="http://93.184.216.34"
p={"host_interval": 0, "address_interval": 0, "host_concurrency": 4, "address_concurrency": 4}
shutil.rmtree('/tmp/ot',ignore_errors=True); os.mkdir('/tmp/ot')
job=make_job({"seeds":[S+"/"],"politeness":p})
html=[("Content-Type","text/html")]
links=b"".join(b"<a href=/%d>x</a>"%n for n in range(60))
def answer(url):
    if url.endswith('robots.txt'): return (404,[],b"")
    return (200,html,links if url==S+"/" else b"<title>t</title>"+b"text "*40)
log=_core.Log(pathlib.Path('/tmp/ot/log'),1<<20)
st=Stages(frontier=_core.Frontier(job,_core.Names(job)),fetch=ScriptedFetch(answer),parse=_core.Parser(job),log=log)
st.frontier.add(list(job.seeds))
batches=[]
for b in run(st,Control()): batches.append((b.rows().encode(), log.end()))
from lycosa.records import Outcomes
print(len(batches), sum(len(Outcomes.decode(b)) for b,_ in batches), log.end())
def keys(): return [o['Key'] for o in s3.list_objects_v2(Bucket='bucket').get('Contents',[])]
F=('url','status','fetched_at','header_fields','body') if 'header_fields' in _core.COLUMNS else ('url','status','fetched_at','body')
sj=SinkJob('job1',pathlib.Path('/tmp/ot/sinks'),'s3://bucket/pages/',F)
url=f's3://bucket/pages/?endpoint={end}'
s=sink_of(url); s.attach(sj); s.check(fresh=False,is_ours=False); print('open',s.open(16,log.end()))
half=len(batches)//2
for b,pos in batches[:half]: s.write(Outcomes.decode(b),pos)
s.commit(batches[half-1][1]); print(keys(), s.committed())
for b,pos in batches[half:]: s.write(Outcomes.decode(b),pos)   # then killed
s2=sink_of(url); s2.attach(sj); s2.check(fresh=False,is_ours=True)
s3.put_object(Bucket='bucket',Key='pages/stray',Body=b'x')
at=s2.open(16,log.end()); print('open again',at, keys())
for b,pos in batches[half:]: s2.write(Outcomes.decode(b),pos)
s2.commit(log.end()); s2.close(); print(keys())
import duckdb
for k in keys():
    if k.endswith('parquet'):
        open('/tmp/ot/'+k.split('/')[-1],'wb').write(s3.get_object(Bucket='bucket',Key=k)['Body'].read())
print(duckdb.sql("select count(*), count(distinct url) from '/tmp/ot/*.parquet'").fetchall())
other=sink_of(url); other.attach(sj._replace(id='job2'))
try: other.check(fresh=False,is_ours=False)
except Exception as e: print(type(e).__name__, e)
s2.remove(); print(keys())
bad=sink_of(f's3://none/pages/?endpoint={end}'); bad.attach(sj)
try: bad.check(fresh=False,is_ours=False)
except Exception as e: print(type(e).__name__, e)
# duckdb sink
from lycosa.store.duckdb import DuckdbSink
d=DuckdbSink('/tmp/ot/x.duckdb'); d.attach(sj)
try:
    d.check(fresh=False,is_ours=False); print('duck open', d.open(16,log.end()))
    for b,pos in batches: d.write(Outcomes.decode(b),pos)
    d.commit(log.end()); print(d.committed(), d.columns()); 
    for b,pos in batches: d.write(Outcomes.decode(b),pos)
    d.commit(log.end()); d.close()
    c=duckdb.connect('/tmp/ot/x.duckdb'); print(c.sql('select count(*) from pages').fetchall(), c.sql('select * from lycosa_outputs').fetchall())
except Exception as e:
    import traceback; traceback.print_exc()
os._exit(0)
