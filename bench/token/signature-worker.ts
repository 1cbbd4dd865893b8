/** Makes as many P-256 signatures as it is told to: the unit in which a token is counted. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const data = randomBytes(400);

process.on('message', (count: number) => {
  for (let made = 0; made < count; made += 1) sign('sha256', data, privateKey);
  process.send?.('done');
});
process.once('disconnect', () => process.exit());
