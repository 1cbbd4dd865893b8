import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { repository, signetScript } from '#support/dev-world';
import { field } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { runProgram } from '#support/run-program';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

/* Several real servers over one store, each with a folder of its own as on machines of their own: only the sealing key is the same. */

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
// The shortest that is allowed here: rotated keys sign after that long.
const options = 'snapshot: { refreshIntervalMs: 50 }\nkeys: { maxAgeSeconds: 0, prepublishSeconds: 301';

interface Listed {
  readonly kid: string;
  readonly purpose: string;
  readonly state: string;
  readonly sealingKey: string | null;
}

/** The same store and authority under another configuration. */
function another(installation: Installation, name: string, keys: string): Installation {
  const config = join(installation.folder, `${name}.yaml`);
  const text = readFileSync(installation.config, 'utf8').replace(/^keys:.*$/m, `${options.split('\n')[1]}, ${keys} }`);
  writeFileSync(config, text, { mode: 0o600 });
  return { ...installation, config };
}

function sealingKey({ folder }: Installation, name: string): void {
  writeFileSync(join(folder, name), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
}

function signet(config: string, ...args: readonly string[]) {
  return runProgram(process.execPath, [signetScript, ...args, '--config', config], { cwd: repository });
}

async function keys<Answer = readonly Listed[]>(
  t: ExecutionContext,
  config: string,
  ...args: readonly string[]
): Promise<Answer> {
  const { status, stdout, stderr } = await signet(config, 'keys', ...args, '--json');
  t.is(status, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

async function signs(installation: Installation, serving: Serving): Promise<{ status: number; kid?: string }> {
  const player = serving.as(await installation.pki.identity('media.player'));
  const { status, body } = await player('/oauth2/token', token);
  if (status !== 200) return { status };
  const text = String(field(body, 'access_token'));
  const set = (await player('/oauth2/keys?rfc=true')).body as Parameters<typeof createLocalJWKSet>[0];
  await jwtVerify(text, createLocalJWKSet(set));
  return { status, kid: decodeProtectedHeader(text).kid ?? '' };
}

async function readiness(installation: Installation, serving: Serving) {
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  const { status, body } = await operator('/readyz');
  return { status, body: body as { status: string; keys: { token: string | null; missing: string[] } } };
}

const activeOf = (list: readonly Listed[], purpose = 'token') =>
  list.find((key) => key.purpose === purpose && key.state === 'active')?.kid ?? '';

test('servers with one sealing key follow each rotation; one with another key is unready and signs nothing', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains: loadDomains, more: `${options} }\n` });
  sealingKey(installation, 'sealing.key');
  sealingKey(installation, 'other.key');
  const right = another(installation, 'right', 'storage: store, sealingKeyFile: sealing.key');
  const wrong = another(installation, 'wrong', 'storage: store, sealingKeyFile: other.key');
  const [one, two] = await Promise.all([serve(t, right), serve(t, right)]);
  const first = await keys(t, right.config, 'list');
  t.is(first.length, 4, 'both began without keys and made one of each');
  t.is(new Set(first.map((key) => key.sealingKey)).size, 1);
  t.false(existsSync(join(installation.dataDir, 'keys')), 'no file of a key was written');
  const third = await serve(t, wrong);

  for (const serving of [one, two]) t.is((await signs(right, serving)).kid, activeOf(first));
  const unready = await readiness(wrong, third);
  t.deepEqual([unready.status, unready.body.status], [503, 'no-signing-key']);
  t.deepEqual(unready.body.keys.missing.toSorted(), [activeOf(first), activeOf(first, 'bundle')].toSorted());
  t.is((await signs(wrong, third)).status, 503);
  const said = `"kids":${JSON.stringify(unready.body.keys.missing)},"msg":"private key of an active signing key is missing`;
  await until('the log names the keys', () => third.errors().includes(said));

  // One command for all of them, and nothing to copy.
  await keys(t, right.config, 'rotate', '--now');
  const second = await keys(t, right.config, 'list');
  t.not(activeOf(second), activeOf(first));
  for (const serving of [one, two]) {
    await until('it signs with the new key', async () => (await signs(right, serving)).kid === activeOf(second));
    t.is((await readiness(right, serving)).status, 200);
  }
  // Nor does the third: neither with the new key, nor with the old one, nor with one of its own.
  t.is((await signs(wrong, third)).status, 503);
  const refused = await signet(wrong.config, 'keys', 'rotate', '--now');
  t.is(refused.status, 1);
  t.regex(
    refused.stderr,
    /are sealed with the sealing key `[0-9a-f]{16}`, which is not configured here: no key was created/,
  );

  // A key whose turn comes by time alone is known to all before.
  const [next] = await keys<readonly Listed[]>(t, right.config, 'rotate', '--purpose', 'token');
  for (const serving of [one, two]) {
    await until('it publishes the next key', async () => {
      const { text } = await serving.as(await right.pki.identity('media.player'))('/oauth2/keys');
      return text.includes(next?.kid ?? '?');
    });
  }
  await keys(t, right.config, 'compromised', activeOf(second));
  for (const serving of [one, two]) {
    await until('it signs with neither', async () => (await signs(right, serving)).kid !== activeOf(second));
  }

  // Nothing of what is sealed is told to anybody.
  const log = await signet(right.config, 'audit', 'list', '--json');
  t.is(log.status, 0);
  t.true(log.stdout.includes('add-signing-key'));
  t.false(/v1\.[\w-]{16}\./.test(log.stdout + [one, two, third].map((each) => each.errors()).join('')));
  t.deepEqual(await Promise.all([one, two, third].map((each) => each.end())), [0, 0, 0]);
});

test('from files to the store, to another sealing key, and back from a backup, with a server that goes on', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains: loadDomains, more: `${options} }\n` });
  sealingKey(installation, 'old.key');
  sealingKey(installation, 'new.key');
  const old = another(installation, 'old', 'sealingKeyFile: old.key');
  const stored = another(installation, 'stored', 'storage: store, sealingKeyFile: old.key');
  const both = another(
    installation,
    'both',
    'storage: store, sealingKeyFile: new.key, previousSealingKeyFiles: [old.key]',
  );
  const done = another(installation, 'done', 'storage: store, sealingKeyFile: new.key');
  const running = await serve(t, installation);
  const before = await signs(installation, running);
  const outcomes = async (config: string, ...args: readonly string[]) =>
    (await keys<readonly { outcome: string }[]>(t, config, ...args)).map(({ outcome }) => outcome);

  t.deepEqual(await outcomes(old.config, 'seal'), ['sealed', 'sealed', 'sealed', 'sealed']);
  rmSync(join(installation.dataDir, 'keys'), { recursive: true });
  const second = await serve(t, stored);
  t.deepEqual(await signs(stored, second), before);
  const backup = join(installation.folder, 'backup');
  t.is((await signet(stored.config, 'backup', backup)).status, 0);

  t.deepEqual(await outcomes(both.config, 'reseal'), ['sealed', 'sealed', 'sealed', 'sealed']);
  t.deepEqual(await signs(stored, second), before, 'it has the keys that it opened');
  const third = await serve(t, done);
  t.deepEqual(await signs(done, third), before, 'the old sealing key is needed no more');
  await Promise.all([running, second, third].map((each) => each.end()));

  // The backup is of before, and its keys are sealed with the old key: those of the store that it replaces go on.
  t.is((await signet(done.config, 'restore', backup)).status, 0);
  const last = await serve(t, done);
  t.deepEqual(await signs(done, last), before);
  t.is(await last.end(), 0);

  const open = another(installation, 'open', 'storage: store, sealingKeyFile: open.key');
  writeFileSync(join(installation.folder, 'open.key'), randomBytes(32), { mode: 0o644 });
  const readable = await signet(open.config, 'serve');
  t.is(readable.status, 78);
  t.regex(readable.stderr, /keys\.sealingKeyFile: `.*open\.key` can be read by others: its mode must be 0600/);
});

test('signet init --sealed-keys makes a server whose keys are in its store', async (t) => {
  const { folder } = await install(t, { domains: [] });
  const made = join(folder, 'made');
  t.is(
    (await runProgram(process.execPath, [signetScript, 'init', made, '--sealed-keys'], { cwd: repository })).status,
    0,
  );
  const list = await keys(t, join(made, 'signet.yaml'), 'list');
  t.is(list.length, 4);
  t.true(list.every((key) => key.sealingKey === list[0]?.sealingKey && key.sealingKey !== null));
});
