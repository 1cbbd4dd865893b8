import { z } from 'zod';

/** Answer of `GET /login`: the issuers with which people log in, and the client ids for them. */
export const loginMetadataSchema = z.object({
  issuers: z.array(z.object({ issuer: z.string(), clientId: z.string(), scopes: z.array(z.string()) })),
});

export type LoginMetadata = z.output<typeof loginMetadataSchema>;
