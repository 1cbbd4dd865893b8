import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { freePort } from '#support/free-port';
import { loadDomains } from '#support/mixed-load';
import { missingPrometheus, prometheusFile } from '#support/promtool';
import { install, serve } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

const rules = fileURLToPath(new URL('../../../deploy/prometheus/rules.yaml', import.meta.url));

test('a real Prometheus scrapes a server of two processes, and counts right when one of them is killed', async (t) => {
  if (prometheusFile === undefined) return t.log(missingPrometheus) ?? t.pass();
  t.timeout(300_000);
  const installation = await install(t, { domains: loadDomains, more: 'metrics: { listen: { port: 0 } }' });
  const serving = await serve(t, installation, { args: ['--workers', '2'] });
  const target = new URL(serving.metricsUrl ?? '').host;
  const at = (name: string) => join(installation.folder, name);
  writeFileSync(
    at('prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${rules}']
scrape_configs: [{ job_name: signet, static_configs: [{ targets: ['${target}'] }] }]
`,
  );
  const own = `127.0.0.1:${await freePort()}`;
  const args = [
    `--config.file=${at('prometheus.yml')}`,
    `--storage.tsdb.path=${at('tsdb')}`,
    `--web.listen-address=${own}`,
  ];
  const prometheus = spawn(prometheusFile, args, { stdio: 'ignore' });
  const ended = once(prometheus, 'exit');
  t.teardown(async () => {
    prometheus.kill('SIGKILL');
    await ended;
  });
  const ask = async (path: string) => Object(await (await fetch(`http://${own}/api/v1/${path}`)).json()).data;
  const value = async (query: string) => {
    const { result } = await ask(`query?query=${encodeURIComponent(query)}`).catch(() => ({ result: [] }));
    return result.length === 1 ? Number(result[0].value[1]) : undefined;
  };
  const reaches = (query: string, wanted: number) =>
    until(`${query} is ${wanted}`, async () => (await value(query)) === wanted);

  await reaches('up', 1);
  await reaches('signet_workers{state="answering"}', 2);
  await reaches('signet_store_up', 1);
  const player = await installation.pki.identity('media.player');
  const getTokens = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const call = serving.as(player);
      const { status } = await call(
        '/oauth2/token',
        form({ grant_type: 'client_credentials', scope: 'catalog:domain' }),
      );
      t.is(status, 200);
      call.agent.destroy();
    }
  };
  const tokens = 'signet_tokens_issued_total{kind="access"}';
  await getTokens(6);
  await reaches(tokens, 6);
  await reaches('sum(signet_http_requests_total{route="/v1/oauth2/token",code="200"})', 6);

  const children = readFileSync(`/proc/${serving.pid}/task/${serving.pid}/children`, 'utf8').trim().split(' ');
  t.is(children.length, 2);
  process.kill(Number(children[0]), 'SIGKILL');
  await reaches('signet_workers{state="answering"}', 1);
  t.is(await value(tokens), 6, 'what the killed process had counted stays');
  await reaches('signet_workers{state="answering"}', 2);
  await getTokens(4);
  await reaches(tokens, 10);
  t.is(await value(`resets(${tokens}[5m])`), 0);

  const [{ health, lastError }] = (await ask('targets')).activeTargets;
  t.deepEqual([health, lastError], ['up', '']);
  const { groups } = await ask('rules');
  const states = groups.flatMap((group: { rules: { health: string; lastError?: string }[] }) => group.rules);
  t.deepEqual(
    states.filter((rule: { health: string }) => rule.health !== 'ok'),
    [],
  );
  t.is(await serving.end(), 0);
});
