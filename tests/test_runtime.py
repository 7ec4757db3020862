"""The runtime around the kernels: devices by name, the compiler, the cache of programs, the count of threads."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from native import parse

import limn.runtime as runtime
from limn.dtypes import float32, int32
from limn.runtime import Buffer, compiler, threads
from limn.runtime.c_device import CDevice
from limn.runtime.cache import Cache
from limn.runtime.compiler import CompilerError, find_compiler, processor

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")

# -------------------------------------------------------------------------------------------------------------- devices


@pytest.fixture
def no_device(monkeypatch):
    """No device chosen or made yet."""
    monkeypatch.setattr(runtime, "_current", [])
    monkeypatch.setattr(runtime, "_made", {})
    monkeypatch.delenv("LIMN_DEVICE", raising=False)


def test_numpy_is_the_default_and_limn_device_overrides(no_device, monkeypatch):
    assert runtime.get_device().name == "numpy"
    runtime._current.clear()
    monkeypatch.setenv("LIMN_DEVICE", "cpu")
    assert runtime.get_device().name in ("c", "numpy")


def test_unknown_devices_are_refused_by_name(no_device, monkeypatch):
    with pytest.raises(ValueError, match="unknown device 'tpu'; limn has numpy, c"):
        runtime.set_device("tpu")
    with pytest.raises(RuntimeError, match="cuda"):
        runtime.set_device("cuda")
    monkeypatch.setenv("LIMN_DEVICE", "gpu")
    with pytest.raises(ValueError, match="LIMN_DEVICE=gpu: unknown device 'gpu'"):
        runtime.get_device()


@needs_compiler
def test_a_device_is_made_once(no_device):
    runtime.set_device("c")
    device = runtime.get_device()
    runtime.set_device("numpy")
    runtime.set_device("c")
    assert runtime.get_device() is device


def test_without_a_compiler_c_says_why_and_cpu_is_numpy(no_device, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(RuntimeError, match=r"no C compiler works here \(cc is not on the PATH.*install gcc or clang"):
        runtime.set_device("c")
    runtime.set_device("cpu")
    assert runtime.get_device().name == "numpy"


# ------------------------------------------------------------------------------------------------------------- compiler


def script(folder: Path, text: str) -> str:
    path = folder / "mycc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_fails_is_reported_with_its_own_words(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path, "echo 'mycc: error: out of licences' >&2; exit 3"))
    with pytest.raises(CompilerError, match=r"out of licences.*correct CC"):
        find_compiler(Cache(tmp_path / "cache"))
    monkeypatch.setenv("CC", "no-such-compiler -O9")
    with pytest.raises(CompilerError, match="no-such-compiler is not on the PATH"):
        find_compiler(Cache(tmp_path / "cache"))


@needs_compiler
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("exit 0", "makes no library that loads here"),
        ('while [ "$1" != -o ]; do shift; done; echo text > "$2"', "makes no library that loads here"),
        ('exec cc -x c++ "$@"', "could not compile"),
    ],
)
def test_what_compiles_no_c_for_this_machine_is_no_compiler(body, message, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path, body))
    with pytest.raises(CompilerError, match=message):
        find_compiler(Cache(tmp_path / "cache"))


def test_a_cc_that_is_no_command_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "gcc '-O2")
    with pytest.raises(CompilerError, match="CC=gcc '-O2: No closing quotation"):
        find_compiler(Cache(tmp_path / "cache"))


@needs_compiler
def test_flags_that_a_compiler_does_not_take_are_left_out(monkeypatch, tmp_path):
    refuse = (
        'for a in "$@"; do case $a in -fopenmp|-march=native) echo "error: $a" >&2; exit 1;; esac; done; exec cc "$@"'
    )
    monkeypatch.setenv("CC", script(tmp_path, refuse))
    compiler = find_compiler(Cache(tmp_path / "cache"))
    assert not compiler.has_openmp and "-march=native" not in compiler.flags and "-fwrapv" in compiler.flags


@needs_compiler
def test_what_is_known_of_a_compiler_outlives_the_process(monkeypatch, tmp_path):
    cache = Cache(tmp_path / "cache")
    first = find_compiler(cache)
    monkeypatch.setattr(subprocess, "run", None)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert find_compiler(Cache(tmp_path / "cache")) == first


def test_the_processor_is_part_of_what_a_program_depends_on():
    assert processor() == processor() and len(processor()) == 16


# ---------------------------------------------------------------------------------------------------------------- cache


def test_an_entry_is_found_again_and_a_damaged_one_is_not(tmp_path):
    cache = Cache(tmp_path / "a" / "b")
    path = cache.put("x.so", b"some bytes")
    assert Cache(tmp_path / "a" / "b").get("x.so") == path and cache.text("x.so") == "some bytes"
    assert cache.get("other") is None and cache.text("other") is None
    path.write_bytes(path.read_bytes()[:-3])
    assert cache.get("x.so") is None and not path.exists()
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_nothing_half_written_is_left_behind(tmp_path):
    cache = Cache(tmp_path)
    cache.put("x", b"1")
    cache.put("x", b"2")
    assert os.listdir(tmp_path) == ["x"] and cache.text("x") == "2"


def test_files_not_used_for_longest_go_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LIMN_CACHE_MB", "1")
    cache = Cache(tmp_path)
    for place in range(8):
        path = cache.put(f"f{place}", bytes(2**18))
        os.utime(path, (1000 + place, 1000 + place))
    cache.get("f0")
    cache.puts = 0
    cache.put("last", b"")
    left = set(os.listdir(tmp_path))
    assert {"last", "f0", "f7"} <= left and "f1" not in left
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2**20


@pytest.mark.parametrize("text", ["nan", "-1", "much", ""])
def test_a_size_that_is_none_means_the_usual_one(text, tmp_path, monkeypatch):
    monkeypatch.setenv("LIMN_CACHE_MB", text)
    Cache(tmp_path).put("kept", b"")
    assert os.listdir(tmp_path) == ["kept"]


def test_a_folder_that_cannot_be_used_costs_one_warning_and_no_answer(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = Cache(blocked)
    with pytest.warns(UserWarning, match=r"cache folder .*file cannot be used \(.*LIMN_CACHE_DIR"):
        cache.put("x", b"1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("y", b"2")
    assert cache.text("x") == "1" and cache.text("y") == "2"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_another_users_folder_is_not_trusted(tmp_path):
    path = Cache(tmp_path).put("x", b"1")
    os.chown(tmp_path, 12345, 12345)
    with pytest.warns(UserWarning, match="belongs to another user"):
        cache = Cache(tmp_path)
    assert cache.get("x") is None and path.exists()


PROGRAM = """
import warnings, numpy as np
from limn import Tensor, set_device
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    set_device("c")
    for n in (5, 6):
        x = Tensor(np.arange(n, dtype=np.float32))
        assert (x * 3 + 1).numpy().tolist() == [3 * k + 1 for k in range(n)]
print(len(seen), *(str(w.message) for w in seen))
"""


def run(environment: dict[str, str]) -> str:
    """Run x * 3 + 1 on c in a fresh process, and give what it printed: how many warnings, and which."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LIMN_", "XDG_"))}
    kept |= environment
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_compiler
@pytest.mark.full
def test_programs_run_wherever_the_cache_may_not_be(tmp_path):
    read_only = tmp_path / "read only"
    read_only.mkdir(0o500)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert run({"LIMN_CACHE_DIR": str(tmp_path / "no" / "such")}).startswith("0")
    assert run({"LIMN_CACHE_DIR": str(read_only)})[0] in "01"
    assert run({"LIMN_CACHE_DIR": str(plain)}).startswith("1 limn keeps no compiled programs")
    assert run({"LIMN_CACHE_DIR": str(plain / "below")}).startswith("1")
    assert run({"HOME": "/proc/nonexistent"}).startswith("1")
    assert run({"LIMN_CACHE_DIR": "/dev/full"}).startswith("1")


@needs_compiler
@pytest.mark.full
def test_a_process_that_may_not_write_its_folder_still_computes(tmp_path):
    """Not even as the user who owns it: read-only for root too."""
    cache = tmp_path / "cache"
    first = run({"LIMN_CACHE_DIR": str(cache)})
    assert first.startswith("0") and list(cache.iterdir())
    cache.chmod(0o500)
    assert run({"LIMN_CACHE_DIR": str(cache)}).startswith("0")
    cache.chmod(0o700)


@needs_compiler
@pytest.mark.full
def test_several_processes_fill_one_cache_at_the_same_time(tmp_path):
    environment = os.environ | {"LIMN_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROGRAM]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in running:
        out, _ = process.communicate()
        assert process.returncode == 0 and out.startswith("0")
    assert not [name for name in os.listdir(tmp_path / "cache") if name.startswith(".new")]


@needs_compiler
@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can mount")
def test_a_full_disk_costs_only_the_cache(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "filler").write_bytes(bytes(60 * 1024))
        assert run({"LIMN_CACHE_DIR": str(disk / "cache")}).startswith("1")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -------------------------------------------------------------------------------------------------------------- threads


def test_omp_num_threads_decides_where_it_is_a_number(monkeypatch):
    for text, count in (("3", 3), ("5,2", 5), (" 2 ", 2)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert threads.thread_count.__wrapped__() == count
    for text in ("", "many", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert 1 <= threads.thread_count.__wrapped__() <= (os.cpu_count() or 1)


def test_a_quota_of_the_control_group_lowers_the_count(monkeypatch):
    files = {"/proc/self/cgroup": "0::/jobs/one\n", "/sys/fs/cgroup/jobs/cpu.max": "150000 100000"}
    files |= {"/sys/fs/cgroup/jobs/one/cpu.max": "max 100000"}
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_read", lambda path: files.get(str(path)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    assert threads.thread_count.__wrapped__() == 1
    files["/sys/fs/cgroup/jobs/cpu.max"] = "300000 100000"
    assert threads.thread_count.__wrapped__() == 3
    files["/proc/self/cgroup"] = "4:cpu,cpuacct:/old\n"
    files |= {"/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us": "200000", "/sys/fs/cgroup/cpu/old/cpu.cfs_period_us": "100000"}
    assert threads.thread_count.__wrapped__() == 2
    files["/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us"] = "-1"
    assert threads.thread_count.__wrapped__() == 4


def test_threads_of_one_core_count_once(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    siblings = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    files = {topology.format(cpu): text for cpu, text in siblings.items()}
    monkeypatch.setattr(threads, "_read", lambda path: files.get(str(path)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    assert threads.thread_count.__wrapped__() == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3})
    assert threads.thread_count.__wrapped__() == 1


# -------------------------------------------------------------------------------------------------------------- buffers


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_buffers_are_aligned_and_know_where_they_are(size):
    for dtype in (float32, int32):
        buffer = Buffer(dtype, size)
        assert buffer.address % 64 == 0 and buffer.array.shape == (size,) and buffer.array.dtype == dtype.numpy
        if size:
            assert buffer.address == buffer.array.ctypes.data
        buffer.array[...] = 1
        assert np.array_equal(buffer.array, np.ones(size))


# ---------------------------------------------------------------------------------------------------- the environment


def test_loading_a_library_leaves_the_environment_as_it_was(monkeypatch):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with threads.patient_threads():
        assert os.environ["GOMP_SPINCOUNT"] == threads.SPINS
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with threads.patient_threads():
        assert "GOMP_SPINCOUNT" not in os.environ


@needs_compiler
def test_a_processor_without_fused_multiply_add_gets_none(tmp_path, monkeypatch):
    """The compiler knows, the pipeline says so, and the cache remembers it."""
    monkeypatch.setattr(compiler, "NATIVE_FLAGS", ((),))
    monkeypatch.setenv("LIMN_CACHE_DIR", str(tmp_path))
    for device in (CDevice(), CDevice()):
        if device.compiler.fma:
            pytest.skip("all processors that this compiler makes code for have the instruction")
        assert "contract{fma=false}" in device.pipeline
        module = parse("""
            func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<1xf32> {
              %0 = graph.mul %a, %b : tensor<4xf32>
              %1 = graph.sum %0 axes [0] : tensor<4xf32> -> tensor<1xf32>
              func.return %1 : tensor<1xf32>
            }
        """)
        arrays = [Buffer.of(np.arange(4, dtype=np.float32), float32) for _ in range(2)]
        assert device.compile(module).run(arrays)[0].array.tolist() == [14]
        assert "fma" not in str(module) and "nest.accumulate add" in str(module)
