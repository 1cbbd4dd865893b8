import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type DevWorld, repository, startDevWorld } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';

test('every command of the operator guide does what the guide says', async (t) => {
  t.timeout(300_000);
  let world: DevWorld = await startDevWorld();
  t.teardown(() => world.remove());
  const folder = join(world.folder, '..', 'work');
  mkdirSync(folder);
  const outputs: string[] = [];
  for (const { text, kind } of blocksOf(readFileSync(join(repository, 'docs/guides/operator.md'), 'utf8'))) {
    if (kind === 'stopped') t.is(await world.stop('SIGINT'), 0);
    const finished = await runBlock(folder, world.folder, text);
    // A refusal for now (75) is one as well.
    const wanted = kind === 'refused' ? [1, 75] : [0];
    t.true(
      wanted.includes(Number(finished.status)),
      `${text}\n${finished.stdout}${finished.stderr}\n${world.errors()}`,
    );
    outputs.push(finished.stdout + finished.stderr);
    if (kind === 'stopped') world = await startDevWorld({ folder: world.folder });
  }
  const all = outputs.join('');
  for (const said of [
    /not granted \(DENY_NO_MATCH\)/,
    /ticket 4711 is done/,
    /would be left without an administrator$/m,
    /would be left without an administrator once all of them have expired/,
    /^decided by policy rehearsing: .* where instances is stage1,stage2$/m,
    /^films +role +viewer +media\.studio/m,
    /^inForce +\{"roles":50,"members":5000,/m,
    /would be refused: wild\/films\.yaml:\d+:\d+: roles\.viewer\.members\[0\]: `media\.\*` covers more than one/,
    /^\d+ records, head [0-9a-f]{64}$/m,
    /^ {2}\+ member viewer: media\.player$/m,
    /^1 to add, 0 to change, 0 to remove; 1 principal gains access, 0 lose access$/m,
    /^ {2}access: media\.player: gains watch on films:film/m,
    /^2 passed, 0 failed\n1 of 1 assertions covered$/m,
    /the effect differs from the plan: plan again/,
    /the store is in use: stop its servers first/,
    /\/data\/signet\.db\.replaced-\d+ +replaced +\d+ +\S+Z +false$/m,
  ]) {
    t.regex(all, said);
  }
  const digests = [...all.matchAll(/^digest +([0-9a-f]{64})$/gm)].map(([, digest]) => digest);
  // Of the backup and of the restore; the one between is of the store, to which the server may have written meanwhile.
  t.is(digests[2], digests[0]);
});
