/**
 * URL-mode elicitation: the client opens an approval's page for the person who sits at it.
 *
 * In 2025-11-25 the server asks on the stream of the open call, and the call is held until the
 * decision; in 2026-07-28 the answer itself says `input_required`, and the client calls again.
 * For authorizing a service the call fails with `-32042` in 2025-11-25, and the client calls again.
 */
export type Person = PersonOnStream | PersonByRetry;

export interface PersonOnStream {
  readonly by: 'stream';
  /** What the person answered to being sent there; rejects when no answer comes. */
  ask(page: { id: string; url: string; message: string }): Promise<string>;
  /** Tells the client that the page has served its purpose. */
  done(id: string): Promise<void>;
}

export interface PersonByRetry {
  readonly by: 'retry';
  /** Set on the retry: the approval that was asked about, and what the person answered. */
  readonly answered: { readonly approvalId: string; readonly accepted: boolean } | null;
  /** The retry after the person was sent to authorize the service: whatever came of it, they are not sent again. */
  readonly wasSent: boolean;
}
