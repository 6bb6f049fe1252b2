package checkpoint

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// step follows one opcode.
func (p *pickleReader) step(op byte) error {
	switch op {
	case '(': // MARK
		p.marks = append(p.marks, len(p.stack))
		if len(p.marks) > maxPickleStack {
			return errPickle
		}
		return nil
	case '0': // POP, which takes a mark if that is on top
		if n := len(p.marks); n > 0 && p.marks[n-1] == len(p.stack) {
			p.marks = p.marks[:n-1]
			return nil
		}
		_, err := p.pop()
		return err
	case '1': // POP_MARK
		_, err := p.popMark()
		return err
	case '2': // DUP
		v, err := p.pop()
		p.push(v)
		p.push(v)
		return err
	case 'N', ')', ']', 0x88, 0x89, 0x8f, 0x97: // None, (), [], True, False, set(), next buffer
		p.push(pickleValue{})
		return nil
	case '}':
		p.push(pickleValue{kind: pickleDict})
		return nil
	case 'l', 't', 0x91: // list, tuple, frozenset of what follows the mark
		if _, err := p.popMark(); err != nil {
			return err
		}
		p.push(pickleValue{})
		return nil
	case 0x85, 0x86, 0x87: // TUPLE1, 2, 3
		return p.replace(int(op - 0x84))
	case 'a': // APPEND
		return p.discard(1)
	case 'e', 0x90: // APPENDS, ADDITEMS
		_, err := p.popMark()
		return err
	case 0x98: // READONLY_BUFFER
		return nil
	}
	return p.stepData(op)
}

// stepData follows the opcodes that are followed by bytes, and hands the rest on.
func (p *pickleReader) stepData(op byte) error {
	switch op {
	case 'K', 'M', 'J', 'I', 'L', 0x8a, 0x8b:
		return p.integer(op)
	case 'G': // BINFLOAT
		return p.skipAndPush(8)
	case 'F', 'P': // FLOAT, PERSID
		_, err := p.line()
		p.push(pickleValue{})
		return err
	case 'Q': // BINPERSID
		return p.replace(1)
	case 'X', 'U', 'T', 0x8c, 0x8d, 'V', 'S':
		return p.text(op)
	case 'B', 'C', 0x8e, 0x96:
		n, err := p.length(pickleWidth(op))
		if err != nil {
			return err
		}
		return p.skipAndPush(n)
	case 0x80: // PROTO
		_, err := p.in.ReadByte()
		return err
	case 0x95: // FRAME: a hint for readers that buffer
		return p.skip(8)
	case 0x82, 0x83, 0x84: // EXT1, 2, 4
		return p.skipAndPush(int64(1) << (op - 0x82))
	case 'p', 'q', 'r', 0x94, 'g', 'h', 'j':
		return p.memoize(op)
	}
	return p.stepObject(op)
}

// stepObject follows the opcodes that build objects, and hands the rest on.
func (p *pickleReader) stepObject(op byte) error {
	switch op {
	case 'c': // GLOBAL: two lines
		module, err := p.line()
		if err != nil {
			return err
		}
		name, err := p.line()
		p.push(pickleValue{kind: pickleClass, text: p.intern(module + "." + name)})
		return err
	case 0x93: // STACK_GLOBAL
		name, err := p.pop()
		if err != nil {
			return err
		}
		module, err := p.pop()
		p.push(pickleValue{kind: pickleClass, text: p.intern(module.text + "." + name.text)})
		return err
	case 'R', 0x81: // REDUCE, NEWOBJ: class, arguments
		return p.object(1)
	case 0x92: // NEWOBJ_EX
		return p.object(2)
	case 'i': // INST
		if _, err := p.line(); err != nil {
			return err
		}
		if _, err := p.line(); err != nil {
			return err
		}
		_, err := p.popMark()
		p.push(pickleValue{})
		return err
	case 'o': // OBJ
		_, err := p.popMark()
		p.push(pickleValue{})
		return err
	case 'b': // BUILD
		state, err := p.pop()
		if err != nil {
			return err
		}
		obj, err := p.pop()
		if obj.kind == pickleObject {
			p.onBuild(obj.text, state)
		}
		p.push(obj)
		return err
	}
	return p.stepDict(op)
}

// stepDict follows the opcodes that fill dictionaries.
func (p *pickleReader) stepDict(op byte) error {
	switch op {
	case 's': // SETITEM
		val, err := p.pop()
		if err != nil {
			return err
		}
		key, err := p.pop()
		if err != nil {
			return err
		}
		return p.set([]pickleValue{key, val})
	case 'u': // SETITEMS
		items, err := p.popMark()
		if err != nil {
			return err
		}
		return p.set(items)
	case 'd': // DICT
		items, err := p.popMark()
		if err != nil {
			return err
		}
		items = slices.Clone(items) // the push below overwrites them
		p.push(pickleValue{kind: pickleDict})
		return p.set(items)
	}
	return errPickle
}

// object replaces a class and its arguments with an object of that class.
func (p *pickleReader) object(args int) error {
	if err := p.discard(args); err != nil {
		return err
	}
	class, err := p.pop()
	if class.kind == pickleClass {
		p.push(pickleValue{kind: pickleObject, text: class.text})
	} else {
		p.push(pickleValue{})
	}
	return err
}

// set puts pairs into the dictionary on top of the stack, or into an object that behaves like one.
func (p *pickleReader) set(items []pickleValue) error {
	if len(items)%2 != 0 || len(p.stack) == 0 {
		return errPickle
	}
	top := &p.stack[len(p.stack)-1]
	for i := 0; i < len(items); i += 2 {
		key, val := items[i], items[i+1]
		if key.kind != pickleText {
			continue
		}
		p.onEntry(key.text, val)
		// One level is enough and bounds the memory.
		if top.kind == pickleDict && val.kind != pickleDict && len(top.dict) < maxPickleEntries {
			if top.dict == nil {
				top.dict = map[string]pickleValue{}
			}
			top.dict[key.text] = val
		}
	}
	return nil
}

// integer pushes a number. One that does not fit 64 bits is opaque.
func (p *pickleReader) integer(op byte) error {
	v := pickleValue{kind: pickleInt}
	switch op {
	case 'I', 'L':
		text, err := p.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(text, "L"), 10, 64)
		if err != nil {
			v = pickleValue{}
		}
		v.n = n
	case 'K', 'M', 'J':
		b, err := p.bytes(pickleWidth(op))
		if err != nil {
			return err
		}
		n := binary.LittleEndian.Uint64(append(b, make([]byte, 8-len(b))...))
		if v.n = int64(n); op == 'J' {
			v.n = int64(int32(n))
		}
	default: // LONG1, LONG4: two's complement, little endian
		n, err := p.length(pickleWidth(op))
		if err != nil {
			return err
		}
		if n > 8 {
			return p.skipAndPush(n)
		}
		b, err := p.bytes(int(n))
		if err != nil {
			return err
		}
		for i, c := range b {
			v.n |= int64(c) << (8 * i)
		}
		if n > 0 && n < 8 && b[n-1]&0x80 != 0 {
			v.n -= 1 << (8 * n)
		}
	}
	p.push(v)
	return nil
}

// text pushes a string, opaque unless it is kept.
func (p *pickleReader) text(op byte) error {
	var s string
	if op == 'V' || op == 'S' {
		line, err := p.line()
		if err != nil {
			return err
		}
		s = strings.Trim(line, `'"`)
	} else {
		n, err := p.length(pickleWidth(op))
		if err != nil {
			return err
		}
		if n > maxPickleText {
			return p.skipAndPush(n)
		}
		b, err := p.bytes(int(n))
		if err != nil {
			return err
		}
		s = string(b)
	}
	if !p.keep(s) {
		p.push(pickleValue{})
		return nil
	}
	p.push(pickleValue{kind: pickleText, text: p.intern(s)})
	return nil
}

// intern keeps one copy of each name. run bounds them.
func (p *pickleReader) intern(s string) string {
	if have, ok := p.names[s]; ok {
		return have
	}
	p.names[s] = s
	p.kept += len(s)
	return s
}

// memoize stores the top of the stack in the memo, or pushes a value from it. Only strings and classes are
// stored: any other key of the memo yields an opaque value.
func (p *pickleReader) memoize(op byte) error {
	var at int64
	switch op {
	case 'p', 'g':
		line, err := p.line()
		if err != nil {
			return err
		}
		if at, err = strconv.ParseInt(line, 10, 64); err != nil {
			return errPickle
		}
	case 0x94: // MEMOIZE
		at = p.puts
	default:
		n, err := p.length(pickleWidth(op))
		if err != nil {
			return err
		}
		at = n
	}
	switch op {
	case 'g', 'h', 'j': // GET, BINGET, LONG_BINGET
		p.push(p.memo[at])
	default:
		p.puts++
		if len(p.stack) == 0 {
			return errPickle
		}
		top := p.stack[len(p.stack)-1]
		delete(p.memo, at)
		if top.kind == pickleText || top.kind == pickleClass {
			p.memo[at] = top
		}
	}
	return nil
}
