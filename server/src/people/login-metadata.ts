import { z } from 'zod';

/** What `GET /login` answers: with which issuers people log in, and as which client of them. */
export const loginMetadataSchema = z.object({
  issuers: z.array(z.object({ issuer: z.string(), clientId: z.string(), scopes: z.array(z.string()) })),
});

export type LoginMetadata = z.output<typeof loginMetadataSchema>;
