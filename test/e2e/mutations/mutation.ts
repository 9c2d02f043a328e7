import { approved } from './stage.ts';
import type { Outcome, Scene, Setting } from './stage.ts';

/** Something that changes between allow and replay, and what becomes of the call then. */
export interface Mutation extends Setting {
  readonly change: (scene: Scene) => Promise<unknown>;
  readonly outcome: Outcome;
}

/** It leaves as it was approved, with this version of its secret. */
export const sent = (version = 1): Outcome => ({
  told: 'called',
  ended: 'executed',
  sent: [approved(version)],
});

export const refused = (error: string, told = error): Outcome => ({
  told,
  ended: error,
  sent: [],
});

export const stale = (changed: string): Outcome => ({ ...refused('approval_stale'), changed });

export async function remove({ admin }: Scene, path: string): Promise<void> {
  const { status, body } = await admin.delete(path);
  if (status !== 204) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
}

export const servicePath = ({ name }: Scene): string => `/v1/services/${name}`;
