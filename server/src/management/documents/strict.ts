import { z } from 'zod';
import { unknownKeyMessage } from './zod-problems.ts';

/** An object without other keys than these; what else there is is named, with what may be there. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, { error: unknownKeyMessage(shape) });
}
