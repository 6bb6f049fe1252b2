package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	inputs = 16
	hidden = 32
	batch  = 16
	// Weights from the inputs, a bias for each hidden unit, weights to the output, the output's bias.
	parameters = inputs*hidden + hidden + hidden + 1

	learningRate = 0.05
	momentum     = 0.9
)

// network with one hidden layer, and its optimizer. All parameters are in one slice, and so are their
// gradients, so that the ranks sum a single vector.
type network struct {
	Parameters []float64 `json:"parameters"`
	// Velocity of the parameters. Without it in the checkpoint, a resumed training would diverge.
	Velocity []float64 `json:"velocity"`
}

func newNetwork(seed uint64) network {
	random := rand.New(rand.NewPCG(seed, 0))
	n := network{make([]float64, parameters), make([]float64, parameters)}
	for i := range n.Parameters {
		n.Parameters[i] = random.NormFloat64() / math.Sqrt(inputs)
	}
	return n
}

// gradient returns the gradient of the mean squared error over the rank's batch of a step, followed by the
// error itself.
func (n network) gradient(seed uint64, step int64, rank int) []float64 {
	random := rand.New(rand.NewPCG(seed, numberOf(step, rank)))
	g := make([]float64, parameters+1)
	for range batch {
		x, sum := make([]float64, inputs), 0.0
		for i := range x {
			x[i] = random.NormFloat64()
			sum += x[i] * float64(i-inputs/2) / inputs
		}
		n.add(g, x, math.Sin(sum))
	}
	return g
}

// numberOf the batch of a rank in a step. It and the seed determine the samples.
func numberOf(step int64, rank int) uint64 { return uint64(step)<<16 | uint64(rank) }

// batchOf identifies the samples of a rank in a step.
func batchOf(seed uint64, step int64, rank int) string {
	return fmt.Sprintf("%x-%x", seed, numberOf(step, rank))
}

// add adds the contribution of one example to the gradient.
func (n network) add(g, x []float64, want float64) {
	bias, out := n.Parameters[inputs*hidden:], n.Parameters[inputs*hidden+hidden:]
	units, y := make([]float64, hidden), out[hidden]
	for j := range units {
		sum := bias[j]
		for i, v := range x {
			sum += n.Parameters[j*inputs+i] * v
		}
		units[j] = math.Tanh(sum)
		y += out[j] * units[j]
	}
	wrong := y - want
	g[parameters] += wrong * wrong / batch
	d := 2 * wrong / batch
	biasGradient, outGradient := g[inputs*hidden:], g[inputs*hidden+hidden:]
	outGradient[hidden] += d
	for j, u := range units {
		outGradient[j] += d * u
		inner := d * out[j] * (1 - u*u)
		biasGradient[j] += inner
		for i, v := range x {
			g[j*inputs+i] += inner * v
		}
	}
}

// descend takes one step along the mean of the ranks' gradients, and returns their mean error.
func (n network) descend(sum []float64, worldSize int) (loss float64) {
	for i := range n.Parameters {
		n.Velocity[i] = momentum*n.Velocity[i] - learningRate*sum[i]/float64(worldSize)
		n.Parameters[i] += n.Velocity[i]
	}
	return sum[parameters] / float64(worldSize)
}

// hash identifies the weights to the last bit.
func (n network) hash() string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, n.Parameters) // writing to a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}
