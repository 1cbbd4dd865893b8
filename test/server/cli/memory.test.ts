import { totalmem } from 'node:os';
import { estimatedBytes, type Memory, memoryHere, memoryProblem } from '@signet/server/cli/memory';
import test from 'ava';

const [mebibyte, gibibyte] = [2 ** 20, 2 ** 30];
const machine = (bytes: number): Memory => ({ bytes, of: 'this machine' });

const cases: readonly (readonly [
  name: string,
  workers: number,
  bytesEach: number,
  memory: Memory,
  expected: string | undefined,
])[] = [
  ['one that has room', 1, gibibyte, machine(4 * gibibyte), undefined],
  ['exactly half', 2, gibibyte, machine(4 * gibibyte), undefined],
  [
    'a byte more than half',
    2,
    gibibyte + 1,
    machine(4 * gibibyte),
    '2 workers hold 2.0 GiB of memory, more than half of the 4.0 GiB of this machine: run 1 or fewer (`workers`), or provide 4.0 GiB: a full reload needs twice the memory',
  ],
  [
    'many workers in a control group',
    8,
    gibibyte / 2,
    { bytes: 2 * gibibyte, of: 'its control group' },
    '8 workers hold 4.0 GiB of memory, more than half of the 2.0 GiB of its control group: run 2 or fewer (`workers`), or provide 8.0 GiB: a full reload needs twice the memory',
  ],
  [
    'workers of which not even one fits',
    2,
    3 * gibibyte,
    machine(4 * gibibyte),
    '2 workers hold 6.0 GiB of memory, more than half of the 4.0 GiB of this machine: provide 12.0 GiB: a full reload needs twice the memory',
  ],
  [
    'a small one',
    1,
    200 * mebibyte,
    { bytes: 256 * mebibyte, of: 'its control group' },
    'the server holds 200 MiB of memory, more than half of the 256 MiB of its control group: provide 400 MiB: a full reload needs twice the memory',
  ],
  [
    'a single process',
    1,
    gibibyte,
    machine(1.5 * gibibyte),
    'the server holds 1.0 GiB of memory, more than half of the 1.5 GiB of this machine: provide 2.0 GiB: a full reload needs twice the memory',
  ],
];

for (const [name, workers, bytesEach, memory, expected] of cases) {
  test(`memory for ${name}`, (t) => {
    const problem = memoryProblem({ workers, bytesEach }, memory);
    t.is(problem && `${problem.found}: ${problem.advice}`, expected);
  });
}

test('the estimate agrees with what was measured', (t) => {
  const mebibytes = (members: number) => estimatedBytes(members) / 2 ** 20;
  for (const [members, measured] of [
    [10_000, 198],
    [100_000, 273],
    [1_000_000, 577],
  ] as const) {
    t.true(Math.abs(mebibytes(members) / measured - 1) < 0.2, `${members}: ${mebibytes(members)} MiB`);
  }
});

test('memory is that of the machine, or less', (t) => {
  const { bytes } = memoryHere();
  t.true(bytes > 0 && bytes <= totalmem());
});
