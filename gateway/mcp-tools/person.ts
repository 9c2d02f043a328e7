/**
 * How an MCP client sends its user to a page of the gateway (URL-mode elicitation). There the user
 * decides an approval or authorizes a service.
 *
 * For an approval, a server of revision 2025-11-25 sends the elicitation on the stream of the open
 * call, and delays the answer until the decision. In revision 2026-07-28 the answer is
 * `input_required`, and the client repeats the call. If a service must be authorized, a 2025-11-25
 * call fails with `-32042`, and the client repeats the call.
 */
export type Person = PersonOnStream | PersonByRetry;

export interface PersonOnStream {
  readonly by: 'stream';
  /** Resolves with the user's response to the elicitation; rejects if there is no response. */
  ask(page: { id: string; url: string; message: string }): Promise<string>;
  /** Tells the client that the elicitation is complete. */
  done(id: string): Promise<void>;
}

export interface PersonByRetry {
  readonly by: 'retry';
  /**
   * Set if the client repeats the call: the approval that the user was asked to decide, and whether
   * the user agreed to open the page.
   */
  readonly answered: { readonly approvalId: string; readonly accepted: boolean } | null;
  /**
   * Whether the client repeats the call after its user was sent to authorize the service. The user
   * is then not sent again, even if they did not authorize it.
   */
  readonly wasSent: boolean;
}
