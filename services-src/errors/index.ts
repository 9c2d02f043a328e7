import { z } from 'zod';

import { wordsOfIssue } from './issue-words.ts';

export { errorCodes, isErrorCode } from '../contracts/errors.ts';
export type { ErrorCode } from '../contracts/errors.ts';
export { AppError, shortenText } from './app-error.ts';
export type { ErrorDetails, JsonValue } from './app-error.ts';
export { findNearestName as nearestName, nearestNameOrTitle } from './nearest.ts';
export {
  markAskAgain as askAgain,
  toFinalRefusal as finalRefusal,
  isAskAgain,
  unknownCritical,
  unreadable,
} from './other-release.ts';

// The messages of all schemas in this process come from one function, whatever answer shows them.
z.config({ customError: wordsOfIssue });
