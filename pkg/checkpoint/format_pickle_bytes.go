package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// pickleWidth is the size in bytes of the number or length that follows an opcode.
func pickleWidth(op byte) int {
	switch op {
	case 'K', 'U', 'C', 'q', 'h', 0x8a, 0x8c:
		return 1
	case 'M':
		return 2
	case 0x8d, 0x8e, 0x96:
		return 8
	}
	return 4
}

func (p *pickleReader) bytes(n int) ([]byte, error) {
	b := make([]byte, n, max(n, 8))
	_, err := io.ReadFull(p.in, b)
	return b, err
}

// length reads a length or a memo key of width bytes.
func (p *pickleReader) length(width int) (int64, error) {
	b, err := p.bytes(width)
	if err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint64(append(b, make([]byte, 8-width)...))
	if n > maxPickle {
		return 0, io.ErrUnexpectedEOF // no pickle that is read is that long
	}
	return int64(n), nil
}

func (p *pickleReader) skip(n int64) error {
	for n > 0 {
		step, err := p.in.Discard(int(min(n, 1<<20)))
		if err != nil {
			return err
		}
		n -= int64(step)
	}
	return nil
}

func (p *pickleReader) skipAndPush(n int64) error {
	p.push(pickleValue{})
	return p.skip(n)
}

// line reads the line after a textual opcode. A line longer than the buffer belongs to no pickle of ours.
func (p *pickleReader) line() (string, error) {
	b, err := p.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errPickle
	}
	if err != nil {
		return "", err
	}
	return string(b[:len(b)-1]), nil
}
