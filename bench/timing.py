"""A program that prints its measurement as a JSON line, and a row of ours beside the peer's."""
import json, subprocess, sys


def line(command):
    """The last line that a command prints, as JSON; ends this program if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def row(name, ours, peers, wanted, extra=""):
    """The best of ours and of the peer's, in milliseconds, and their ratio."""
    mine = min(ours) * 1e3
    text = f"{name:44} {mine:9.3f} ms{extra}"
    if peers:
        best = min(peers) * 1e3
        text += f"   peer {best:9.2f} ms   ratio {best / mine:5.1f}   wanted {wanted}"
    elif wanted:
        text += f"   wanted {wanted}"
    return text
