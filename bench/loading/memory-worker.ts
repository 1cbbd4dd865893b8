/** Bytes of heap that the policy of an engine holds, and those of a hand-coded map of the same rules. Needs `--expose-gc`. */

import { PolicyEngine } from '@signet/policy-engine';
import { prepareHandMap } from '../decisions/engines/hand-map.ts';
import { createWorkload, domain, type Rule, type WorkloadPlan } from '../decisions/workload.ts';
import { answerOrders } from '../measure/answer-order.ts';

export interface MemoryOrder {
  readonly plan: WorkloadPlan;
  readonly engine: 'ours' | 'hand-coded map';
}

function heapUsed(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** A copy of the rules that shares no string with the original, as when they were read from a file. */
function fromText(text: string): Rule[] {
  const rules: Rule[] = JSON.parse(text);
  return rules;
}

async function build({ engine, plan }: MemoryOrder): Promise<unknown> {
  const text = JSON.stringify(createWorkload(plan).rules);
  return engine === 'ours'
    ? PolicyEngine.fromDomains({ [domain]: [{ name: 'benchmark', assertions: fromText(text) }] })
    : prepareHandMap(fromText(text));
}

async function measure(order: MemoryOrder): Promise<number> {
  await build({ ...order, plan: { ...order.plan, size: 10 } });
  const before = heapUsed();
  const held = await build(order);
  const after = heapUsed();
  if (held === undefined) throw new Error('nothing was built');
  return after - before;
}

answerOrders(measure);
