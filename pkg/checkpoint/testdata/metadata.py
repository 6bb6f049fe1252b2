# Makes metadata-protocol-*.b64: the .metadata that torch.distributed.checkpoint would pickle, from classes with its names and
# fields, so that PyTorch is not needed. Run it in this directory.
import sys,types,pickle,dataclasses,base64,collections
def mod(n):
    m=types.ModuleType(n); sys.modules[n]=m; return m
for n in ["torch","torch.distributed","torch.distributed.checkpoint"]: mod(n)
md=mod("torch.distributed.checkpoint.metadata"); fsm=mod("torch.distributed.checkpoint.filesystem"); ts=mod("torch")
def cls(m,name,fields):
    c=dataclasses.make_dataclass(name,fields); c.__module__=m.__name__; c.__qualname__=name; setattr(m,name,c); return c
Metadata=cls(md,"Metadata",["state_dict_metadata","planner_data","storage_data","storage_meta"])
Index=dataclasses.make_dataclass("MetadataIndex",["fqn","offset","index"],frozen=True); Index.__module__=md.__name__; md.MetadataIndex=Index
Chunk=cls(md,"ChunkStorageMetadata",["offsets","sizes"])
Tensor=cls(md,"TensorStorageMetadata",["properties","size","chunks"])
Bytes=cls(md,"BytesStorageMetadata",[])
Meta=cls(md,"StorageMeta",["checkpoint_id","save_id","load_id"])
Info=cls(fsm,"_StorageInfo",["relative_path","offset","length"])
class Size(tuple): pass
Size.__module__="torch"; ts.Size=Size
names=["__%d_0.distcp"%r for r in range(3)]
sd,data={},{}
for i in range(40):
    fqn="layers.%d.weight"%i
    sd[fqn]=Tensor(None,Size((4,4)),[Chunk(Size((0,0)),Size((4,4)))])
    data[Index(fqn,Size((0,0)),None)]=Info(names[i%3],(i//3)*1000,1000)
sd["step"]=Bytes(); data[Index("step",None,None)]=Info(names[0],14000,70000)
m=Metadata(sd,{"planner":("a",1)},data,Meta("/c/step_1","uuid",None))
for proto in (2, 4):
    b=pickle.dumps(m,protocol=proto)
    open("metadata-protocol-%d.b64"%proto,"w").write(base64.b64encode(__import__("zlib").compress(b,9)).decode())
