import { approvedBytes } from './stage.ts';
import type { Outcome, Scene, Setting } from './stage.ts';

/**
 * A change between the decision to allow a call and its replay, and the outcome that the replay
 * must have.
 */
export interface Mutation extends Setting {
  readonly change: (scene: Scene) => Promise<unknown>;
  readonly outcome: Outcome;
}

/** The outcome of a call that is sent as it was approved, with the given version of its secret. */
export const sentOutcome = (version = 1): Outcome => ({
  told: 'called',
  ended: 'executed',
  sent: [approvedBytes(version)],
});

export const refusedOutcome = (error: string, failureText = error): Outcome => ({
  told: failureText,
  ended: error,
  sent: [],
});

export const staleOutcome = (changed: string): Outcome => ({
  ...refusedOutcome('approval_stale'),
  changed,
});

export async function deleteResource({ admin }: Scene, path: string): Promise<void> {
  const { status, body } = await admin.delete(path);
  if (status !== 204) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
}

export const servicePath = ({ name }: Scene): string => `/v1/services/${name}`;
