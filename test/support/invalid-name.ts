import { InvalidNameError } from '@signet/policy-engine/names';

/** The message for a value that is not a valid name, without its field; `names.test.ts` has the whole messages. */
export function isNoName(kind: ConstructorParameters<typeof InvalidNameError>[1]): string {
  return new InvalidNameError('', kind).message.trimStart();
}
