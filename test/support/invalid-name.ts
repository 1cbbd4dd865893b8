import { InvalidNameError } from '@signet/policy-engine/names';

/** What is said of a value that is no name of the kind, behind the name of its field; `names.test.ts` has the texts themselves. */
export function isNoName(kind: ConstructorParameters<typeof InvalidNameError>[1]): string {
  return new InvalidNameError('', kind).message.trimStart();
}
