import test, { type ExecutionContext } from 'ava';
import type { DomainSketch } from '#support/domain-sketch';
import { randomFrom } from '#support/random';
import { type Caller, caller, startServer, wholeFile } from '#support/start-server';

/*
 * Stores that differ only in members of lists that the caller may not look at: explanations and grantees are equal, byte by byte. The callers
 * are in no list that differs.
 */

const worlds = 60;
const principals = ['user.ann', 'user.bob', 'media.player', 'media.gone', 'other.api'];
/** A wildcard for everybody would cover the callers. */
const entries = [...principals, 'media.*', 'user.*', 'media:group.seen', 'media:group.secret', 'other:group.secret'];

const file = wholeFile();
const server = await startServer(file, { options: { 'budgets.enabled': false } });
const as = async (name: string) => caller(file, server, await server.pki.identity(name));
const [boss, delegate] = [await as('staff.boss'), await as('staff.delegate')];

test.after.always(() => file.end());

type Lists = Readonly<Record<string, readonly string[]>>;
type Pick = (below: number) => number;

function some(pick: Pick, of: readonly string[]): string[] {
  return of.filter(() => pick(3) === 0);
}

function listsOf(pick: Pick, names: readonly string[], of: readonly string[]): Lists {
  return Object.fromEntries(names.map((name) => [name, some(pick, of)]));
}

/** Rules of `films` and `media`, the same in both worlds. */
function rulesOf(pick: Pick) {
  const roles = ['shown', 'hidden', 'closed', 'lent', '*'];
  const role = () => roles[pick(roles.length)] ?? '*';
  const films = Array.from(
    { length: 6 },
    () =>
      [
        pick(4) === 0 ? 'DENY' : 'ALLOW',
        role(),
        ['read', 'write', '*'][pick(3)] ?? 'read',
        ['film', '*'][pick(2)] ?? '*',
      ] as const,
  );
  const assumed = pick(2) === 0 ? [['ALLOW', 'hidden', 'assume_role', 'role.closed'] as const] : [];
  return [...films, ...assumed];
}

interface World {
  readonly rules: ReturnType<typeof rulesOf>;
  /** Lists that every caller may look at. */
  readonly shown: Lists;
  /** Roles of `films` that the administrator may look at, and the delegate may not. */
  readonly own: Lists;
  /** Lists of other domains that neither may look at. */
  readonly foreign: Lists;
}

function domainsOf({ rules, shown, own, foreign }: World): DomainSketch[] {
  return [
    { name: 'staff', services: { boss: {}, delegate: {} } },
    {
      name: 'films',
      roles: {
        admin: ['staff.boss'],
        viewers: ['staff.delegate'],
        shown: shown['shown'] ?? [],
        hidden: own['hidden'] ?? [],
        closed: own['closed'] ?? [],
        lent: { trust: 'media' },
      },
      policies: {
        rules,
        delegation: [
          ['ALLOW', 'viewers', 'view_domain', 'domain'],
          ['ALLOW', 'viewers', 'view_domain', 'role.shown'],
        ],
      },
    },
    {
      name: 'media',
      services: { player: {} },
      roles: {
        friends: ['staff.boss', 'staff.delegate'],
        borrowers: foreign['borrowers'] ?? [],
        others: foreign['others'] ?? [],
      },
      groups: {
        seen: (shown['seen'] ?? []).filter(isName),
        secret: (foreign['secret'] ?? []).filter(isName),
      },
      policies: {
        consent: [['ALLOW', 'friends', 'view_domain', 'group.seen']],
        lending: [['ALLOW', 'borrowers', 'assume_role', 'role.*']],
      },
    },
    { name: 'other', services: { api: {} }, groups: { secret: (foreign['further'] ?? []).filter(isName) } },
  ];
}

function isName(entry: string): boolean {
  return !/[*:]/.test(entry);
}

async function answers(ask: Caller): Promise<string[]> {
  const told: string[] = [];
  const note = async (path: string) => {
    const { status, headers, text } = await ask(`^/management/v1/${path}`);
    told.push(`${path} ${status} ${headers['etag']} ${text}`);
    const next: unknown = status === 200 ? Object(JSON.parse(text)).next : undefined;
    return typeof next === 'string' ? next : undefined;
  };
  for (const action of ['read', 'write', 'assume_role']) {
    const asked = `action=${action}&resource=films:${action === 'assume_role' ? 'role.closed' : 'film'}`;
    for (const principal of [...principals, 'media.absent', '_folded_._0']) {
      await note(`explanation?${asked}&principal=${principal}`);
    }
    for (let next = await note(`grantees?${asked}&limit=2`); next !== undefined; ) {
      next = await note(`grantees?${asked}&limit=2&cursor=${next}`);
    }
  }
  return told;
}

/** What differs for an operator is what the callers must not see. */
async function compare(t: ExecutionContext, ask: Caller, differing: 'foreign' | 'all'): Promise<void> {
  let different = 0;
  for (let seed = 0; seed < worlds; seed += 1) {
    const pick = randomFrom(seed);
    const world = {
      rules: rulesOf(pick),
      shown: listsOf(pick, ['shown', 'seen'], [...entries, '*']),
      own: listsOf(pick, ['hidden', 'closed'], entries),
      foreign: listsOf(pick, ['borrowers', 'others', 'secret', 'further'], entries),
    };
    const other = {
      ...world,
      ...(differing === 'all' && { own: listsOf(pick, ['hidden', 'closed'], entries) }),
      foreign: listsOf(pick, ['borrowers', 'others', 'secret', 'further'], entries),
    };
    await server.save(...domainsOf(world));
    const [first, decided] = [await answers(ask), await decisions()];
    await server.save(...domainsOf(other));
    t.deepEqual(await answers(ask), first, `seed ${seed}`);
    if ((await decisions()) !== decided) different += 1;
  }
  t.true(different > worlds / 10, `${different} worlds decide differently`);
}

/** Decisions of the server itself. */
async function decisions(): Promise<string> {
  const texts: string[] = [];
  for (const principal of principals) {
    texts.push((await boss(`^/management/v1/access/read/films:film?principal=${principal}`)).text);
  }
  return texts.join();
}

test.serial('an administrator learns nothing of the members of foreign groups and trusted roles', async (t) => {
  t.timeout(600_000);
  await compare(t, boss, 'foreign');
});

test.serial('a delegate learns nothing of the roles that it may not look at', async (t) => {
  t.timeout(600_000);
  await compare(t, delegate, 'all');
});
