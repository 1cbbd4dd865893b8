import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { blocksOf } from '#support/guide';
import { runProgram } from '#support/run-program';

/*
 * Every command of the guide to installing, as it is printed: in a mount namespace, where /etc, /opt and /var are layers that end with the test. What
 * no test machine has is replaced: systemd does not run (it works offline), no registry of images is reached, and `docker run` is `chroot`.
 */

const part = (name: string) => import(pathToFileURL(join(repository, 'deploy', 'release', name)).href);
const { packAll }: typeof import('../../deploy/release/pack.ts') = await part('pack.ts');
const sums: typeof import('../../deploy/release/checksums.ts') = await part('checksums.ts');

const [packages, systemd, image, docker, release] = blocksOf(
  readFileSync(join(repository, 'docs/guides/install.md'), 'utf8'),
).map(({ text }) => text);

const work = mkdtempSync(join(tmpdir(), 'signet-test-'));
test.after.always(() => rmSync(work, { recursive: true, force: true }));

/** Programs that the machine lacks; undefined when it has all. */
function missing(...programs: readonly string[]): string | undefined {
  const lacking = programs.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (lacking.length > 0) return `${lacking.join(', ')} is not on this machine`;
  if (process.getuid?.() !== 0) return 'programs are installed for a machine as root';
  const layered = spawnSync('unshare', ['--mount', 'sh', '-c', `${layers} true`], { cwd: work });
  return layered.status === 0 ? undefined : 'this machine has no layers of file systems in a namespace';
}

const layers = `set -eu; mkdir -p layers; mount -t tmpfs tmpfs layers
for top in etc opt var; do
  mkdir -p layers/$top/upper layers/$top/work
  mount -t overlay overlay -o lowerdir=/$top,upperdir=layers/$top/upper,workdir=layers/$top/work /$top
done
`;

async function runInLayers(t: ExecutionContext, script: string): Promise<string> {
  const { status, stdout, stderr } = await runProgram(
    'unshare',
    ['--mount', 'bash', '-c', `${layers}set -o pipefail\n${script}`],
    { cwd: work, env: { ...process.env, SYSTEMD_OFFLINE: '1' } },
  );
  t.is(status, 0, `${script}\n${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

/** Asks the server at the port of this guide, in its own network, until it answers. */
const untilHealthy = (bundle: string) => `
for attempt in $(seq 600); do
  curl --silent --fail --cacert ${bundle} --resolve tokens.example.com:4443:127.0.0.1 https://tokens.example.com:4443/healthz && break
  kill -0 $! || exit 1
  sleep 0.1
done
kill $!
# runuser reports the signal that it passed on.
wait $! || [ $? = 143 ]
`;

test.serial('packages are installed, and the unit of the server runs what was installed as its user', async (t) => {
  t.timeout(600_000);
  const lacks = missing('unshare', 'systemctl', 'systemd-sysusers', 'systemd-tmpfiles', 'runuser', 'curl', 'ip');
  if (lacks !== undefined) return t.pass(`skipped: ${lacks}`);
  for (const file of packAll(join(work, 'packed'))) copyFileSync(join(work, 'packed', file), join(work, file));
  const said = await runInLayers(
    t,
    `${packages}
ln -s ${join(repository, 'deploy')} deploy
export PATH=${join(process.execPath, '..')}:$PATH
# Starting needs a running systemd, enabling does not; the unit's command is started below.
systemctl() { command systemctl "\${@/#--now/--quiet}"; }
${systemd}
test -L /etc/systemd/system/multi-user.target.wants/signet.service
command=$(sed -n 's#%S#/var/lib#; s/^ExecStart=//p' /etc/systemd/system/signet.service)
cat > serve.sh <<END
ip link set lo up
runuser -u signet -- $command &
${untilHealthy('/var/lib/signet/server/ca/bundle.pem').replaceAll('$', '\\$')}
END
unshare --net bash -eu serve.sh
`,
  );
  t.regex(said, /^0\.2\.0$/m);
  t.regex(said, /"msg":"serving"/);
});

test.serial('the image is built, kept, and run', async (t) => {
  t.timeout(600_000);
  const lacks = missing('unshare', 'buildah', 'skopeo', 'umoci', 'chroot', 'curl', 'ip');
  if (lacks !== undefined) return t.pass(`skipped: ${lacks}`);
  const local = (text = '') =>
    text
      .replaceAll('/tmp/signet-image', join(work, 'image'))
      .replace('docker://registry.example.com/signet:0.2.0', `oci:${join(work, 'registry')}:0.2.0`)
      .replace('node deploy/', `'${process.execPath}' '${repository}deploy/`)
      .replace('build.ts', "build.ts'");
  const said = await runInLayers(
    t,
    `${local(image)}
umoci unpack --image ${join(work, 'registry')}:0.2.0 unpacked
root=unpacked/rootfs
mkdir -p $root/proc && mount -t proc proc $root/proc
# "docker run" of the guide: the options before the image concern the container, and the rest are arguments of its program.
docker() {
  local detach=
  while [ "$1" != registry.example.com/signet:0.2.0 ]; do [ "$1" != --detach ] || detach=1; shift; done
  shift
  if [ -n "$detach" ]; then chroot --userspec=65532:65532 $root /node /app/server/bin/signet.js "$@" & else
    chroot --userspec=65532:65532 $root /node /app/server/bin/signet.js "$@"; fi
}
export -f docker
export root
cat > run.sh <<'END'
ip link set lo up
${docker}${untilHealthy('$root/var/lib/signet/server/ca/bundle.pem')}
END
unshare --net bash -eu run.sh
chroot --userspec=65532:65532 $root /node /app/server/bin/signet.js completion bash | bash -n
chroot --userspec=65532:65532 $root /node /app/example-provider/bin/signet-example-provider.js --help
umount $root/proc
`,
  );
  t.regex(said, /"msg":"serving"/);
});

test('a release is verified with the key of its signature', async (t) => {
  const folder = join(work, 'release');
  mkdirSync(folder);
  writeFileSync(join(folder, 'signet-server-0.2.0.tgz'), 'a package');
  const key = join(work, 'key');
  const made = await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]).catch(() => undefined);
  if (made === undefined) return t.pass('skipped: OpenSSH is not on this machine');
  sums.writeChecksums(folder);
  sums.signChecksums(folder, key);
  writeFileSync(join(folder, 'signers'), `releases ${readFileSync(`${key}.pub`, 'utf8')}`);
  const verify = () => runProgram('bash', ['-euc', release ?? 'false'], { cwd: folder });
  const verified = await verify();
  t.is(verified.status, 0, verified.stderr);
  t.regex(verified.stdout, /^signet-server-0\.2\.0\.tgz: OK$/m);
  writeFileSync(join(folder, 'signet-server-0.2.0.tgz'), 'another package');
  t.is((await verify()).status, 1);
});
