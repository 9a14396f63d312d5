import { count, duration } from '../format'
import { plural } from '../locale'
import type { Saying } from './phrase'

/** What the dashboard says otherwise than the server, whose own words are English. */
export const en: Saying = {
  not_signed_in: 'You are not signed in.',
  good_no_more: 'Your sign-in is good no more.',
  password_required: 'Enter your password again, or sign in again. It holds for five minutes.',
  code_required: 'Enter a code from your authenticator app, or a recovery code.',
  totp_setup_required: 'Two-factor authentication is required for your account. Set it up first.',
  slowed: (_, number) => `Sign-ins failed too often. The next is taken in ${duration(number('seconds'))}.`,
  wrong_fields: 'Some fields are not right yet.',
  contradiction: 'This contradicts another queue.',
  queues_outside: 'Queues of this tenant use what the lists no longer allow. Change the queues first.',
  changed_meanwhile: 'Somebody else changed this meanwhile.',
  will_remove_theme: (gap, number) =>
    `The theme "${gap('theme')}" will be removed for good, with ${gap('versions')} ${plural(number('versions'), { one: 'version', other: 'versions' })}; nothing of it can be had again`,
  full: 'There are {most}, which is as many as there may be. Remove one that is not needed any more.',
  no_themes: 'Themes are kept nowhere: the program was started without a place for them.',
  themes_unavailable: 'The place where themes are kept gives no answer. Try again in a moment.',
  store_unavailable: 'The store does not respond. Try again in a moment.',
  outcome_unknown: 'The store did not respond in time, so the change may or may not have been applied. Check the current values before you try again.',
  // Rules are counted from 0 by the API, and from 1 on the page.
  rule_takes: (_, number) => `rule ${count(number('rule') + 1)} takes it`,
  rule_passes: (_, number) => `rule ${count(number('rule') + 1)} lets it pass`,
}
