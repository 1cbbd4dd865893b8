import './no-code-generation.ts';

import { systemClock } from '@signet/policy-engine/clock';
import { evaluate } from './evaluate.ts';
import { linkOf, openLink } from './link.ts';
import type { Reply, Request } from './messages.ts';

/* Where texts of anybody are read: what hangs here is ended by the page, which stays as it is. */

addEventListener('message', async ({ data }: MessageEvent<Request>) => postMessage(await answer(data)));

async function answer(request: Request): Promise<Reply> {
  try {
    return await answered(request);
  } catch (error) {
    return {
      kind: 'failed',
      message: `this cannot be evaluated: ${error instanceof Error ? error.message : 'unknown'}`,
    };
  }
}

async function answered(request: Request): Promise<Reply> {
  switch (request.kind) {
    case 'evaluate':
      return { kind: 'evaluated', evaluation: evaluate(request.state, systemClock.now()) };
    case 'open':
      return { kind: 'opened', opened: await openLink(request.fragment) };
    case 'share': {
      const link = await linkOf(request.state);
      return { kind: 'shared', ...(link !== undefined && { link }) };
    }
  }
}
