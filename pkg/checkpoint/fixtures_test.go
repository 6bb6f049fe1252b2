package checkpoint

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
)

// tree is a directory of files by path. The fixtures are built byte by byte from the specifications of the
// formats.
type tree map[string][]byte

func (t tree) fs() fstest.MapFS {
	out := fstest.MapFS{}
	for name, data := range t {
		if strings.HasSuffix(name, "/") {
			out[strings.TrimSuffix(name, "/")] = &fstest.MapFile{Mode: 0o755 | 1<<31}
			continue
		}
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

func (t tree) with(name string, data []byte) tree {
	out := maps.Clone(t)
	if data == nil {
		delete(out, name)
	} else {
		out[name] = data
	}
	return out
}

func (t tree) under(dir string) tree {
	out := tree{}
	for name, data := range t {
		out[dir+"/"+name] = data
	}
	return out
}

func (t tree) and(others ...tree) tree {
	out := maps.Clone(t)
	for _, o := range others {
		maps.Copy(out, o)
	}
	return out
}

func (t tree) names() []string { return slices.Sorted(maps.Keys(t)) }

var weights = []byte(strings.Repeat("weights ", 40))

func manifestOf(step int64, files tree) tree {
	m := Manifest{Version: 1, JobUID: "uid-1", Attempt: 1, Step: step, WorldSize: 4, Framework: "pytorch"}
	for _, name := range files.names() {
		sum := sha256.Sum256(files[name])
		m.Files = append(m.Files, File{name, int64(len(files[name])), hex.EncodeToString(sum[:])})
	}
	data, err := Encode(m)
	if err != nil {
		panic(err)
	}
	return files.with(ManifestName, data)
}

func zipOf(members tree) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range members.names() {
		f, _ := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		f.Write(members[name])
	}
	w.Close()
	return b.Bytes()
}

// torchSave is what torch.save writes for a dictionary of numbers.
func torchSave(ints map[string]int64) []byte {
	return zipOf(
		tree{"archive/data.pkl": pickle2(ints), "archive/data/0": weights, "archive/version": []byte("3\n")},
	)
}

// pickle2 is a pickle of protocol 2 with BINPUT, as torch.save writes it.
func pickle2(ints map[string]int64) []byte {
	b := []byte{0x80, 2, '}', 'q', 0, '('}
	put := byte(1)
	text := func(s string) {
		b = append(b, 'X')
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(append(b, s...), 'q', put)
		put++
	}
	text("module")
	// A tensor: a call of _rebuild_tensor_v2 with a persistent ID. The reader must skip it.
	b = append(b, "ctorch._utils\n_rebuild_tensor_v2\nq"...)
	b = append(b, put, '(', '(')
	put++
	text("storage")
	b = append(b, "ctorch\nFloatStorage\n"...)
	text("0")
	text("cpu")
	b = append(b, 'K', 80, 't', 'Q', 'K', 0, 'K', 80, 0x85, 'K', 1, 0x85, 0x89, '}', 't', 'R')
	for _, key := range slices.Sorted(maps.Keys(ints)) {
		text(key)
		b = append(b, 'J')
		b = binary.LittleEndian.AppendUint32(b, uint32(ints[key]))
	}
	return append(b, 'u', '.')
}

type dcpPart struct {
	file           string
	offset, length int64
}

// dcpPickle is a torch.distributed.checkpoint Metadata as pickle.dump writes it: protocol 4 with MEMOIZE, in
// a frame.
func dcpPickle(parts ...dcpPart) []byte {
	var b []byte
	memo := map[string]int{}
	n := 0
	memoize := func() { b = append(b, 0x94); n++ }
	text := func(s string) {
		if at, ok := memo[s]; ok {
			b = append(b, 'h', byte(at))
			return
		}
		b = append(b, 0x8c, byte(len(s)))
		b = append(b, s...)
		memo[s] = n
		memoize()
	}
	class := func(module, name string) {
		if at, ok := memo["class "+name]; ok {
			b = append(b, 'h', byte(at))
			return
		}
		text(module)
		text(name)
		b = append(b, 0x93)
		memo["class "+name] = n
		memoize()
	}
	object := func(module, name string, state func()) {
		class(module, name)
		b = append(b, ')', 0x81)
		memoize()
		b = append(b, '}')
		memoize()
		b = append(b, '(')
		state()
		b = append(b, 'u', 'b')
	}
	number := func(i int64) {
		if i < 1<<16 {
			b = append(b, 'M', byte(i), byte(i>>8))
			return
		}
		b = append(b, 0x8a, 8)
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	const pkg = "torch.distributed.checkpoint."
	object(pkg+"metadata", "Metadata", func() {
		text("state_dict_metadata")
		b = append(b, '}')
		memoize()
		text("planner_data")
		b = append(b, 'N')
		text("storage_data")
		b = append(b, '}')
		memoize()
		b = append(b, '(')
		for i, part := range parts {
			object(pkg+"metadata", "MetadataIndex", func() {
				text("fqn")
				text(fmt.Sprintf("layer.%d.weight", i))
				text("offset")
				b = append(b, 'N')
				text("index")
				number(int64(i))
			})
			object(pkg+"filesystem", "_StorageInfo", func() {
				text("relative_path")
				text(part.file)
				text("offset")
				number(part.offset)
				text("length")
				number(part.length)
			})
		}
		b = append(b, 'u')
	})
	b = append(b, '.')
	head := binary.LittleEndian.AppendUint64([]byte{0x80, 4, 0x95}, uint64(len(b)))
	return append(head, b...)
}

func dcpTree() tree {
	n := int64(len(weights))
	return tree{
		"__0_0.distcp": weights, "__1_0.distcp": weights,
		".metadata": dcpPickle(
			dcpPart{"__0_0.distcp", 0, 100}, dcpPart{"__0_0.distcp", 100, n - 100},
			dcpPart{"__1_0.distcp", 0, n},
		),
	}
}

func safetensorsOf(data []byte) []byte {
	header := fmt.Sprintf(
		`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[10],"data_offsets":[0,40]},`+
			`"b":{"dtype":"U8","shape":[%d],"data_offsets":[40,%d]}}`,
		len(data)-40, len(data),
	)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func hfTree(step int) tree {
	state := fmt.Sprintf(
		`{"epoch": 1.5, "log_history": [{"global_step": 7, "loss": 2.5}], "global_step": %d,`+
			` "is_world_process_zero": true}`,
		step,
	)
	return tree{
		"trainer_state.json": []byte(state), "config.json": []byte("{}"),
		"model-00001-of-00002.safetensors": safetensorsOf(weights),
		"model-00002-of-00002.safetensors": safetensorsOf(weights),
		"model.safetensors.index.json": []byte(
			`{"metadata":{},"weight_map":{"a":"model-00001-of-00002.safetensors",` +
				`"b":"model-00002-of-00002.safetensors"}}`,
		),
		"optimizer.pt": torchSave(nil), "scheduler.pt": torchSave(nil),
		"rng_state_0.pth": torchSave(nil), "rng_state_1.pth": torchSave(nil),
	}
}

func deepSpeedTree(step, dp, mp int) tree {
	t := tree{}
	for m := range mp {
		t[fmt.Sprintf("mp_rank_%02d_model_states.pt", m)] = torchSave(
			map[string]int64{
				"dp_world_size": int64(dp), "mp_world_size": int64(mp), "global_steps": int64(step),
			},
		)
		for d := range dp {
			t[fmt.Sprintf("bf16_zero_pp_rank_%d_mp_rank_%02d_optim_states.pt", d, m)] = torchSave(nil)
		}
	}
	return t.under(fmt.Sprintf("global_step%d", step))
}

func megatronTree(step int) tree {
	t := tree{}
	for rank := range mgRanks(2, 2, 1) {
		t[rank+"/model_optim_rng.pt"] = torchSave(
			map[string]int64{"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2},
		)
		t[rank+"/distrib_optim.pt"] = torchSave(nil)
	}
	return t.under(fmt.Sprintf("iter_%07d", step))
}

func megatronDistTree(step int) tree {
	return dcpTree().and(tree{
		"metadata.json": []byte(
			`{"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch",` +
				` "common_backend_version": 1}`,
		),
		"common.pt": torchSave(nil),
	}).under(fmt.Sprintf("iter_%07d", step))
}

func varints(ns ...uint64) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// tfIndex is an SSTable with one block, as BundleWriter writes it for small models.
func tfIndex(shards int, ends ...int64) []byte {
	var out []byte
	block := func(entries [][2][]byte) []byte {
		var b []byte
		last := []byte{}
		for _, e := range entries {
			shared := 0
			for shared < min(len(last), len(e[0])) && last[shared] == e[0][shared] {
				shared++
			}
			b = append(b, varints(uint64(shared), uint64(len(e[0])-shared), uint64(len(e[1])))...)
			b = append(append(b, e[0][shared:]...), e[1]...)
			last = e[0]
		}
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint32(b, 1)
		handle := varints(uint64(len(out)), uint64(len(b)))
		out = append(append(out, b...), 0, 1, 2, 3, 4)
		return handle
	}
	entries := [][2][]byte{{nil, append(varints(1<<3, uint64(shards)), 2<<3|2, 2, 8, 1)}}
	for i, end := range ends {
		entries = append(entries, [2][]byte{
			fmt.Appendf(nil, "model/layer-%03d", i),
			append(varints(1<<3, 1, 3<<3, uint64(i), 4<<3, 8, 5<<3, uint64(end-8)), 6<<3|5, 1, 2, 3, 4),
		})
	}
	data := block(entries)
	meta := block(nil)
	index := block([][2][]byte{{[]byte("z"), data}})
	foot := append(meta, index...)
	foot = append(foot, make([]byte, 40-len(foot))...)
	return binary.LittleEndian.AppendUint64(append(out, foot...), tableMagic)
}

func tfTree(step int) tree {
	name := fmt.Sprintf("ckpt-%d", step)
	n := int64(len(weights))
	return tree{
		name + ".index": tfIndex(2, n, n), name + ".data-00000-of-00002": weights,
		name + ".data-00001-of-00002": weights,
	}
}

func hdf5Of(version byte) []byte {
	size := 800
	b := make([]byte, size)
	copy(b, hdf5Signature)
	b[8] = version
	at := 12
	if version < 2 {
		b[13], b[14] = 8, 8
		at = 24 + 4*int(version)
	} else {
		b[9], b[10] = 8, 8
	}
	binary.LittleEndian.PutUint64(b[at+16:], uint64(size))
	return b
}

func kerasOf() []byte {
	return zipOf(tree{"config.json": []byte("{}"), "metadata.json": []byte("{}"), "model.weights.h5": hdf5Of(2)})
}

func ocdbtOf() []byte {
	body := []byte("0123456789abcdef configuration and versions")
	b := binary.BigEndian.AppendUint32(nil, 0x0cdb3a2a)
	b = binary.LittleEndian.AppendUint64(b, uint64(12+2+len(body)+4))
	b = append(append(b, 0, 1), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func orbaxTree() tree {
	return tree{
		"_CHECKPOINT_METADATA": []byte(
			`{"item_handlers": {"params": "a.B", "state": "a.C"}, "metrics": {},` +
				` "init_timestamp_nsecs": 1729368552368568523,` +
				` "commit_timestamp_nsecs": 1729368556022049618, "custom": {}}`,
		),
		"params/_METADATA": []byte("{}"), "params/manifest.ocdbt": ocdbtOf(), "params/d/0a1b": weights,
		"params/ocdbt.process_0/manifest.ocdbt": ocdbtOf(), "params/ocdbt.process_0/d/77": weights,
		"state/_METADATA": []byte("{}"), "state/manifest.ocdbt": ocdbtOf(), "state/d/99": weights,
	}
}
