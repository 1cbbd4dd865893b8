import type { RouterMiddleware } from '@koa/router';
import type { RequestState } from '@signet/server/http/context';
import { revocationListRoute } from '@signet/server/http/routes/identity/authority-certificates';
import type { GivenCrl } from '@signet/server/x509/crl-publisher';
import test from 'ava';
import { FakeClock } from '#support/clock';

const clock = new FakeClock();

/** A list that notes when its text is asked for. */
function listOf(number: number, asked: number[]): GivenCrl {
  const nextUpdate = Math.floor(clock.now() / 1000) + 600;
  const pem = async () => {
    asked.push(number);
    return `list ${number}\n`;
  };
  return { number, thisUpdate: 0, nextUpdate, der: Buffer.from([number]), digest: `digest-${number}`, pem };
}

async function answer(route: RouterMiddleware<RequestState>): Promise<unknown> {
  const ctx = {
    params: { issuer: 'chain' },
    querystring: '',
    state: { work: 0 },
    req: { headers: {} },
    res: { setHeader: () => undefined },
    vary: () => undefined,
    set: () => undefined,
    body: undefined,
  };
  await route(ctx as unknown as Parameters<typeof route>[0], async () => undefined);
  return ctx.body;
}

test('all who ask for the lists of the whole chain get one text, until there is another list', async (t) => {
  const asked: number[] = [];
  let lists = [listOf(1, asked), listOf(2, asked)];
  const crls = { all: async () => lists, current: async () => listOf(0, asked) };
  const route = revocationListRoute({ crls: crls as never, clock, crlMaxAgeSeconds: 60 });
  const texts = await Promise.all([answer(route), answer(route), answer(route)]);
  t.deepEqual(texts, Array(3).fill('list 1\nlist 2\n'));
  t.deepEqual(asked, [1, 2], 'it was put together once');
  lists = [listOf(3, asked), listOf(2, asked)];
  t.deepEqual([await answer(route), await answer(route)], Array(2).fill('list 3\nlist 2\n'));
  t.deepEqual(asked, [1, 2, 3, 2]);
});
