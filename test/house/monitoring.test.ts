import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { parse } from 'yaml';
import { missingPrometheus, promtool, promtoolFile } from '#support/promtool';

/* Shipped files for Prometheus and Grafana use existing metrics, and each alert has its place in the guide. */

const top = new URL('../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, top), 'utf8');
const path = (file: string) => fileURLToPath(new URL(file, top));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
const { groups }: { groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  read('deploy/prometheus/rules.yaml'),
);
const rules = groups.flatMap((group) => group.rules);

/** Every metric of the reference, with its labels. */
const documented = new Map(
  [...read('docs/reference/metrics.md').matchAll(/^\| `(signet_\w+)` +\| \w+(?: \{([^}]*)\})?/gm)].map(
    ([, name = '', labels = '']) =>
      [name, new Set([...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label))] as const,
  ),
);

/** Metrics that an expression asks for, without the ends of the series of histograms. */
function asked(expression: string): string[] {
  const names = expression.match(/\bsignet_\w+/g) ?? [];
  return names.map((name) => (documented.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')));
}

/** Metrics and labels in an expression's braces. */
function selected(expression: string): (readonly [metric: string, label: string])[] {
  return [...expression.matchAll(/\b(signet_\w+)\{([^}]*)\}/g)].flatMap(([, name = '', inner = '']) =>
    [...inner.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => [asked(name)[0] ?? '', label] as const),
  );
}

test('alerts and dashboard ask for metrics and labels that there are', (t) => {
  t.true(documented.size > 25 && rules.length > 12);
  const dashboard: { panels: readonly { targets?: readonly { expr: string }[] }[] } = JSON.parse(
    read('deploy/grafana/signet.json'),
  );
  const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const expressions = [...rules.map(({ expr }) => expr), ...shown];
  t.deepEqual(
    expressions.flatMap(asked).filter((name) => !documented.has(name)),
    [],
  );
  const target = new Set(['instance', 'le']);
  const foreign = expressions
    .flatMap(selected)
    .filter(([metric, label]) => !target.has(label) && documented.get(metric)?.has(label) !== true);
  t.deepEqual(foreign, []);
  const shownMetrics = new Set(shown.flatMap(asked));
  const ofServer = [...documented.keys()].filter((name) => !/^signet_(engine|updater)_/.test(name));
  t.deepEqual(
    ofServer.filter((name) => !shownMetrics.has(name)),
    [],
    'the dashboard shows every metric of the server',
  );
});

test('each alert has its place in the guide, and a test', (t) => {
  const guide = read('docs/guides/monitoring.md');
  const headings = [...guide.matchAll(/^### (Signet\w+)$/gm)].map(([, name]) => name);
  t.deepEqual(headings.toSorted(), rules.map(({ alert }) => alert).toSorted());
  for (const { alert, annotations } of rules) {
    t.is(annotations.runbook, `docs/guides/monitoring.md#${alert.toLowerCase()}`);
  }
  const { tests } = parse(read('deploy/prometheus/rules.test.yaml'));
  const tried = tests.flatMap((each: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }) =>
    each.alert_rule_test.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 ? [alertname] : [])),
  );
  t.deepEqual([...new Set<string>(tried)].toSorted(), rules.map(({ alert }) => alert).toSorted());
});

test('promtool checks the rules, and runs their tests', (t) => {
  if (promtoolFile === undefined) return t.log(missingPrometheus) ?? t.pass();
  const checked = promtool(['check', 'rules', path('deploy/prometheus/rules.yaml')]);
  t.is(checked.status, 0, checked.output);
  const tested = promtool(['test', 'rules', path('deploy/prometheus/rules.test.yaml')]);
  t.is(tested.status, 0, tested.output);
});
