import { InvalidArgumentError } from 'commander';

/** Days up to a hundred years. */
export function parseDays(text: string): number {
  const days = Number(text);
  if (!/^\d{1,5}$/.test(text) || days < 1 || days > 36_500) {
    throw new InvalidArgumentError('must be a number of days from 1 to 36500');
  }
  return days;
}
