/**
 * How long messages that this release cannot read are left to a later release; longer than any
 * upgrade takes.
 */
const unhandledForMs = 15 * 60_000;
export const leaveAgainAfterMs = 15_000;
/** The most messages that are left at a time, so that they do not use up `max_ack_pending`. */
const unhandledMessagesMax = 400;
/**
 * When a message that failed here does not come again within this time, another replica handles it.
 */
const failingForMs = 15_000;

/**
 * What one replica of a reader knows about the messages that it received, by their sequence in the
 * stream.
 */
export interface Unhandled {
  /**
   * Awaits the handling of a batch. Meanwhile the other functions report what became of each
   * message.
   */
  readonly awaitHandling: (handling: Promise<void>) => Promise<void>;
  readonly noteHandled: (sequence: number) => void;
  readonly noteFailure: (sequence: number) => void;
  /**
   * Notes that a message is left to a later release. Returns false when too many messages are left,
   * or this one for too long; the caller must then drop it.
   */
  readonly noteLeft: (sequence: number, publishedAt: number) => boolean;
  /**
   * Whether this replica has been busy with one message for this long, or has failed to handle a
   * message again and again.
   */
  readonly isStuckFor: (ms: number) => boolean;
}

export function trackUnhandled(): Unhandled {
  /** For each message that was left, when it is delivered again. */
  const unhandledMessages = new Map<number, number>();
  const failedMessages = new Map<number, { readonly since: number; readonly at: number }>();
  /**
   * When the current batch started, or when its last finished message ended; undefined between
   * batches.
   */
  let busySince: number | undefined;

  return {
    async awaitHandling(handling) {
      busySince = performance.now();
      await handling;
      busySince = undefined;
    },
    noteHandled(sequence) {
      busySince = performance.now();
      failedMessages.delete(sequence);
    },
    noteFailure(sequence) {
      const now = performance.now();
      busySince = now;
      failedMessages.set(sequence, { since: failedMessages.get(sequence)?.since ?? now, at: now });
    },
    noteLeft(sequence, publishedAt) {
      const now = performance.now();
      busySince = now;
      failedMessages.delete(sequence);
      for (const [other, until] of unhandledMessages)
        if (until <= now) unhandledMessages.delete(other);
      if (
        Date.now() - publishedAt >= unhandledForMs ||
        unhandledMessages.size >= unhandledMessagesMax
      )
        return false;
      unhandledMessages.set(sequence, now + leaveAgainAfterMs);
      return true;
    },
    isStuckFor(ms) {
      const now = performance.now();
      for (const [sequence, { at }] of failedMessages)
        if (now - at >= failingForMs) failedMessages.delete(sequence);
      return (
        (busySince !== undefined && now - busySince >= ms) ||
        failedMessages.values().some(({ since }) => now - since >= ms)
      );
    },
  };
}
