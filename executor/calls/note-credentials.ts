import type { CallFailure } from '#contracts/failure';
import { noteAnswer } from '../credentials/note-answer.ts';
import type { CarriedCredential } from '../credentials/note-answer.ts';
import type { Deps } from '../deps.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { OnRefused } from '../sending/derive-credential.ts';
import type { Run } from './run.ts';

interface AnsweredCredentials {
  /** The credentials that the answered request carried. */
  readonly credentials: readonly Pick<Credential, 'injection' | 'stored'>[];
  readonly failure: Pick<CallFailure, 'kind'> | undefined;
}

/** Notes that the provider refused a credential when a token was requested for the call. */
export function noteRefused(
  deps: Pick<Deps, 'db' | 'vault' | 'logger'>,
  run: Pick<Run, 'permit' | 'entry'>,
): OnRefused {
  const failure = { kind: 'credential_refused' } as const;
  return (credential) => noteCredentials(deps, run, { credentials: [credential], failure });
}

/** Notes whether the provider refused or accepted the credentials of a call. */
export function noteCredentials(
  deps: Pick<Deps, 'db' | 'vault' | 'logger'>,
  { permit: { orgId }, entry }: Pick<Run, 'permit' | 'entry'>,
  { credentials, failure }: AnsweredCredentials,
): Promise<void> {
  return noteAnswer(deps, {
    orgId,
    credentials: credentials.flatMap(toCarriedCredentials),
    failure,
    entry,
  });
}

function toCarriedCredentials({
  injection,
  stored,
}: AnsweredCredentials['credentials'][number]): CarriedCredential[] {
  if (stored === undefined) return [];
  const { kind, credentialId: id, credentialName: name } = injection;
  return [{ kind, id, name, ...stored }];
}
