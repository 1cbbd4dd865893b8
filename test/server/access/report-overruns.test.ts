import { reportOverruns } from '@signet/server/access/report-overruns';
import test from 'ava';
import { plainSnapshot } from '#support/plain-domains';

function world() {
  const roles = { reader: [{ name: 'media.player', disabled: false }] };
  const snapshot = plainSnapshot(
    [
      { name: 'catalog', roles, rules: [['ALLOW', 'reader', 'assume_role', 'partner:role.staff']] },
      { name: 'media', roles, rules: [['ALLOW', 'reader', 'read', 'movie']] },
    ],
    0,
  );
  const told: object[] = [];
  const reports = reportOverruns(() => snapshot, { warn: (fields: object) => void told.push(fields) } as never);
  const find = (name: string) => [...snapshot.domains.values()].find((domain) => domain.name === name);
  return { reports, told, catalog: find('catalog'), media: find('media') };
}

test('each domain is told with what is new since the last time, and only when there is something', (t) => {
  const { reports, told, catalog, media } = world();
  t.teardown(() => reports.close());
  if (catalog?.foreignPolicy === undefined || media === undefined) return t.fail();
  t.is(media.foreignPolicy, undefined);
  reports.report();
  t.deepEqual(told, []);
  catalog.policy.overruns.count += 2;
  catalog.foreignPolicy.overruns.count += 3;
  reports.report();
  reports.report();
  media.policy.overruns.count += 1;
  reports.report();
  catalog.policy.overruns.count += 1;
  reports.close();
  t.deepEqual(told, [
    { domain: 'catalog', decisions: 5 },
    { domain: 'media', decisions: 1 },
    { domain: 'catalog', decisions: 1 },
  ]);
});
