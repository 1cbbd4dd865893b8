import { z } from 'zod';
import { about, day, seconds } from './about.ts';

export const peopleSchema = z.strictObject({
  expirySeconds: seconds(60, 398 * day)
    .default(7 * day)
    .meta(
      about(
        '0.2',
        day,
        'Life of the certificates that operators have made for people and services, where they ask for none.',
      ),
    ),
  maxExpirySeconds: seconds(60, 398 * day)
    .default(30 * day)
    .meta(
      about(
        '0.2',
        14 * day,
        'The longest life of a certificate for a person; of one for a service it is `certificates.serviceMaxExpirySeconds`.',
      ),
    ),
});
