import { z } from 'zod';

import { id, role, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { displayName } from './display-name.ts';

/** What a person sees and sets of their own account. */
export const profile = z.strictObject({
  id,
  /** The name by which the gateway knows the person; it never changes. */
  handle: z.string(),
  display_name: z.string().nullable(),
  email: z.string().nullable(),
  role,
  org: z.strictObject({ id, name: z.string() }),
  /** When the person was last here before this visit; null on the first one. */
  previous_visit_at: timestamp.nullable(),
  /** Whether the checklist of the first steps is shown. */
  checklist: z.enum(['open', 'dismissed']),
});
export type Profile = z.infer<typeof profile>;

export const changeProfileBody = z
  .strictObject({
    /** Null removes the display name. */
    display_name: displayName.nullable().optional(),
    checklist: profile.shape.checklist.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'names nothing to change');
export type ChangeProfileBody = z.infer<typeof changeProfileBody>;

/** The own account of a person: only dashboard sessions (docs/reference/identities.md#profile). */
export const profileRoutes = defineRoutes({
  getProfile: {
    method: 'GET',
    path: '/v1/profile',
    summary: "The signed-in person's own account",
    tag: 'Profile',
    access: 'user',
    responses: { 200: profile },
    serves: 'auth.getProfile',
    audit: 'none',
  },
  changeProfile: {
    method: 'PATCH',
    path: '/v1/profile',
    summary: 'Change the own display name, or close the checklist',
    tag: 'Profile',
    access: 'user',
    body: changeProfileBody,
    responses: { 200: profile },
    serves: 'auth.changeProfile',
    audit: ['identity.changed'],
  },
  visitProfile: {
    method: 'POST',
    path: '/v1/profile/visit',
    summary:
      'Say that the person is here; begins a visit when the last sign is more than 30 minutes old',
    tag: 'Profile',
    access: 'user',
    responses: { 200: profile },
    serves: 'auth.visitProfile',
    audit: 'none',
  },
});
