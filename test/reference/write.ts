import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceFiles } from './reference.ts';

/* `npm run reference`: writes what is made of schemas and commands, where a test looks for it. */
const top = fileURLToPath(new URL('../..', import.meta.url));
for (const [file, text] of await referenceFiles()) writeFileSync(`${top}${file}`, text);
