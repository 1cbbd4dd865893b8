import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';

const isInstalled = ['ssh-keygen', 'openssl', 'curl'].every(
  (program) => spawnSync(program, ['-?']).error === undefined,
);
const withTools = isInstalled ? test : test.skip;
if (!isInstalled) test('OpenSSH, OpenSSL or curl is not installed here: the guide is skipped', (t) => t.pass());

withTools('every command of the guides on identities and people does what the guide says', async (t) => {
  t.timeout(300_000);
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const folder = join(world.folder, '..', 'work');
  mkdirSync(folder);
  symlinkSync(world.folder, join(folder, '.signet'));
  const outputs: string[] = [];
  const guides = ['identities.md', 'people.md'];
  const texts = guides.map((name) => readFileSync(join(repository, 'docs/guides', name), 'utf8'));
  for (const { text, kind } of texts.flatMap(blocksOf)) {
    const finished = await runBlock(folder, world.folder, text);
    t.is(
      finished.status,
      kind === 'refused' ? 1 : 0,
      `${text}\n${finished.stdout}${finished.stderr}\n${world.errors()}`,
    );
    outputs.push(finished.stdout + finished.stderr);
  }
  const all = outputs.join('');
  for (const said of [
    /^outcome +registered$/m,
    /^state +valid$/m,
    /^renewAt +\d{4}-/m,
    /URI:spiffe:\/\/signet\.local\/ns\/default\/sa\/media\.studio, DNS:studio-7\.studio\.media\.sys-auth-server\.instanceid\.signet\.local/,
    /attestationData is not a valid join token for this instance/,
    /"path":"\/attest\/instance","instanceId":"media-player-2"/,
    /^notAfter=.* GMT$/m,
    /^outcome +refreshed$/m,
    /^studio +sys\.auth\.server +studio-7 +valid/m,
    /the server answered 401: client certificate was revoked/,
    /^state +revoked .* \(key-compromise\)$/m,
    /media\.guest\.cert\.pem: OK/,
    /certificate revoked/,
    /^ +deploy$/m,
    /^1 revoked$/m,
    /id_ops-cert\.pub .*: REVOKED$/m,
    /^principal +user\.jane$/m,
    /^subject=CN ?= ?user\.jane$/m,
    /^principal +user\.joe$/m,
    /issue-certificate/,
  ]) {
    t.regex(all, said);
  }
});
