import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { createKrlPublisher } from '@signet/server/ssh/revoked-krl';
import { createSshAuthorityKey, parseSshAuthority } from '@signet/server/ssh/ssh-authority';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { revoke } from '#support/revoke';
import { temporaryFolder } from '#support/temp';
import { countTurns } from '#support/turns';
import { TestPace } from '../support/test-pace.ts';

test('whoever asks within a second gets one list, read after the last of them asked', async (t) => {
  const pace = new TestPace();
  let [looks, reads] = [0, 0];
  const current = createKrlPublisher({
    pace,
    clock: systemClock,
    authorities: [],
    certificates: {
      lastRevocation: async () => {
        looks += 1;
        return { sequence: looks, at: 0 };
      },
      revocationsAfter: async () => {
        reads += 1;
        return [];
      },
    },
  });
  await current();
  const asked = Array.from({ length: 100 }, () => current());
  await pace.advance(999);
  t.deepEqual([looks, reads], [1, 1]);
  await pace.advance(1);
  t.is(new Set(await Promise.all(asked)).size, 1);
  t.deepEqual([looks, reads], [2, 2]);
});

test('a list is made again when something was revoked, an entry leaves it or the clock is set back, and not before', async (t) => {
  const clock = new FakeClock(1_800_000_000_000);
  const authority = parseSshAuthority(createSshAuthorityKey(), 'a.pem');
  const { fingerprint: issuer } = authority.publicKey;
  const now = epochSeconds(clock);
  const row = (serial: string, notAfter: number, of = issuer) => {
    return { serial, issuer: of, sequence: 1, revokedAt: 1, notAfter, reason: 'superseded' as const };
  };
  const rows = [row('1', now + 100), row('2', now + 200), row('3', now + 1, 'another')];
  const last = { sequence: 3, at: 1 };
  const live = { sequence: 3, rereadAt: 0, ofIssuer: () => [row('1', now + 100), row('4', now + 150)] };
  let [turns, reads] = [0, 0];
  const current = createKrlPublisher({
    clock,
    authorities: [authority],
    pace: { now: () => (turns += 1000), wait: async () => undefined },
    live,
    certificates: {
      lastRevocation: async () => ({ ...last }),
      revocationsAfter: async (_, notBefore) => {
        reads += 1;
        return rows.filter(({ notAfter }) => notAfter >= notBefore);
      },
    },
  });
  const isMade = async () => {
    const before = reads;
    await current();
    return reads > before;
  };
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  clock.advance(150_000);
  t.false(await isMade(), 'in the last second of what is lost in the store');
  clock.advance(1000);
  t.true(await isMade());
  live.ofIssuer = () => [];
  live.sequence += 1;
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  live.rereadAt = 1;
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  last.sequence += 1;
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  last.at += 1;
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  clock.advance((100 + 86_400 - 151) * 1000);
  t.false(await isMade(), 'in the last second of the first entry');
  clock.advance(1000);
  t.deepEqual([await isMade(), await isMade()], [true, false]);
  clock.advance(-1000);
  t.deepEqual([await isMade(), await isMade()], [true, false]);
});

test('others have their turn while a long list is made', async (t) => {
  const authority = parseSshAuthority(createSshAuthorityKey(), 'a.pem');
  const { fingerprint: issuer } = authority.publicKey;
  const many = 20_000;
  const rows = Array.from({ length: many }, (_, index) => ({
    serial: (index + 1).toString(16),
    issuer,
    sequence: index + 1,
    revokedAt: 1,
    notAfter: 4_000_000_000,
    reason: 'superseded' as const,
  }));
  const current = createKrlPublisher({
    clock: systemClock,
    authorities: [authority],
    certificates: { lastRevocation: async () => ({ sequence: many, at: 1 }), revocationsAfter: async () => rows },
  });
  const turns = countTurns();
  const krl = await current();
  t.true(turns() >= 4);
  t.is(krl.readBigUInt64BE(krl.length - 8), BigInt(many));
});

test('the version never falls, every server gives the same bytes, and entries stay for a day after their end', async (t) => {
  const clock = new FakeClock(1_800_000_000_000);
  const file = join(temporaryFolder(t), 'signet.db');
  const authority = parseSshAuthority(createSshAuthorityKey(), 'a.pem');
  const open = async () => {
    const store = await openSqliteStore(file, { clock });
    t.teardown(() => store.close());
    let turns = 0;
    const pace = { now: () => (turns += 1000), wait: async () => undefined };
    const current = createKrlPublisher({ certificates: store.certificates, authorities: [authority], clock, pace });
    return { store, current };
  };
  const [one, two] = [await open(), await open()];
  const holder = parsePrincipalName('media.player');
  const { fingerprint: issuer } = authority.publicKey;
  const now = epochSeconds(clock);
  const serials = ['4000000000000001', '4000000000000002'];
  for (const [index, serial] of serials.entries()) {
    const row = { serial, issuer, kind: 'role', subject: 'media:role.r', holder } as const;
    await one.store.certificates.intend({ ...row, notBefore: now, notAfter: now + (2 - index) * 100 }, now);
    t.true(await revoke(one.store, serial, { reason: 'superseded', at: now + index, by: 'test' }));
  }
  const versionOf = (krl: Buffer) => krl.readBigUInt64BE(12);
  const timeOf = (krl: Buffer) => krl.readBigUInt64BE(20);
  const held = (krl: Buffer) => serials.filter((serial) => krl.includes(Buffer.from(serial, 'hex')));
  for (const [seconds, expected] of [
    [0, serials],
    [100 + 86_400, serials],
    [1, serials.slice(0, 1)],
    [99, serials.slice(0, 1)],
    [1, []],
  ] as const) {
    clock.advance(seconds * 1000);
    const [mine, theirs] = [await one.current(), await two.current()];
    t.deepEqual(mine, theirs);
    t.deepEqual([held(mine), versionOf(mine), timeOf(mine)], [[...expected], 2n, BigInt(now + 1)]);
  }
});
