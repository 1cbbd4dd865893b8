import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { blocksOf } from '#support/guide';
import { type Finished, runProgram } from '#support/run-program';
import { until } from '#support/until';
import { drawRecording } from '../reference/recording.ts';

/* The commands of README.md and of docs/tutorial/try-it.md, as they are printed there, but for the ports, which are free ones here. */

const readme = readFileSync(join(repository, 'README.md'), 'utf8');
const page = readFileSync(join(repository, 'docs/tutorial/try-it.md'), 'utf8');
/** The picture of the README; with `SIGNET_RECORD=1` the test writes it from its run. */
const picture = join(repository, 'docs/pictures/change.svg');

/** The commands of a block below the comments that say what they are for. */
function stepsOf(block: string): { readonly about: string; readonly commands: string }[] {
  return block
    .split(/^# /m)
    .slice(1)
    .map((step) => ({ about: step.slice(0, step.indexOf('\n')), commands: step.slice(step.indexOf('\n') + 1).trim() }));
}

test('the commands of README and walkthrough do what they say', async (t) => {
  t.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(repository, 'policies'), join(folder, 'policies'), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const world = await startDevWorld({ folder: join(folder, '.signet'), cwd: folder });
  t.teardown(() => world.stop().then(() => undefined));
  const port = (url: string) => new URL(url).port;
  const { baseUrl, providerUrl, updaterPid } = world.state;
  /** In one terminal: what `TOKEN` is in one step it is in the next. */
  const run = (commands: string): Promise<Finished> => {
    const typed = commands
      .replaceAll('localhost:4443', `localhost:${port(baseUrl)}`)
      .replaceAll('localhost:4444', `localhost:${port(providerUrl)}`);
    const around = `TOKEN=$(cat .token 2>/dev/null)\n${typed}\nstatus=$?\nprintf %s "$TOKEN" > .token\nexit $status`;
    return runProgram('bash', ['-c', around], { cwd: folder });
  };
  const [first] = blocksOf(readme).map(({ text }) => stepsOf(text));
  const [token, read, explain] = (first ?? []).map(({ commands }) => commands);
  const [tryIt, change, ...others] = blocksOf(page).map(({ text }) => stepsOf(text));
  t.deepEqual(others, []);
  const tokenStep = tryIt?.find(({ commands }) => commands.startsWith('TOKEN='));
  const readStep = tryIt?.find(({ about }) => about.includes('allows a reader to read: 200'));
  const [refused, applied, denied, explained, stopped, ...more] = change ?? [];
  if (!token || !read || !explain || !tokenStep || !readStep) return t.fail('a step is missing');
  if (!refused || !applied || !denied || !explained || !stopped) return t.fail('a step is missing');
  t.deepEqual(more, []);

  t.is((await run(token)).status, 0);
  t.regex((await run(read)).stdout, /\n200\n$/);
  const reason = await run(explain);
  t.is(reason.status, 1);
  t.regex(reason.stdout, /DENY_NO_MATCH/);
  t.is((await run(tokenStep.commands)).status, 0);
  t.regex((await run(readStep.commands)).stdout, /\n200\n$/);

  // Refused, and said so in the words that the README shows.
  const refusal = await run(refused.commands);
  t.is(refusal.status, 1);
  t.is(refusal.stdout, '');
  // npm speaks there as well, of its own settings.
  const said = refusal.stderr.replace(/^npm .*\n/gm, '');
  t.true(page.includes(`\`\`\`text\n${said}\`\`\``), said);
  t.regex((await run(readStep.commands)).stdout, /\n200\n$/);

  const [adapted = '', planned = '', apply = ''] = applied.commands.split('\n');
  t.is((await run(adapted)).status, 0);
  const plan = await run(planned);
  t.regex(plan.stdout, /media\.player.*loses.*read/);
  const done = await run(apply);
  t.is(done.status, 0, done.stderr);
  t.regex(done.stdout, /^catalog: changed, version \d+$/m);
  t.true(denied.about.includes('within a minute'));
  await until('the same token is refused', async () => {
    // The minute is not waited for.
    process.kill(updaterPid, 'SIGHUP');
    return (await run(denied.commands)).stdout.endsWith('\n403\n');
  });

  const why = await run(explained.commands);
  t.is(why.status, 1);
  const drawn = drawRecording([
    { command: planned, output: plan.stdout },
    { command: apply, output: done.stdout },
    {
      command: 'curl … -H "Authorization: Bearer $TOKEN" https://localhost:4444/movie',
      output: (await run(denied.commands)).stdout.trim(),
    },
    { command: explained.commands, output: why.stdout },
  ]);
  if (process.env['SIGNET_RECORD'] === '1') writeFileSync(picture, drawn);
  t.is(drawn, readFileSync(picture, 'utf8'));

  const { status, stdout } = await run(stopped.commands);
  t.is(status, 0);
  t.regex(stdout, /\n200\n$/);
  await until('the token server has ended', () => world.errors().includes('token server ended'));
  const series = stopped.commands.split('\n').at(-1) ?? '';
  t.regex((await run(series)).stdout, /\n200\n$/);

  // How to bring the samples back.
  const back = ['catalog.yaml', 'catalog.cases.yaml'].map((name) => `mv policies/${name}.bak policies/${name}`);
  t.true(page.includes(back[0] ?? ''));
  t.is((await run(`${back.join('\n')}\nnpx signet apply policies`)).status, 0);
  for (const name of ['catalog.yaml', 'catalog.cases.yaml']) {
    t.is(
      readFileSync(join(folder, 'policies', name), 'utf8'),
      readFileSync(join(repository, 'policies', name), 'utf8'),
    );
  }
});
