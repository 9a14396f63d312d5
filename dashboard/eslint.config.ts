import i18n from '@intlify/eslint-plugin-vue-i18n'
import { defineConfigWithVueTs, vueTsConfigs } from '@vue/eslint-config-typescript'
import vue from 'eslint-plugin-vue'
import accessibility from 'eslint-plugin-vuejs-accessibility'

const http = 'Call the API through src/api.'

/** Messages whose keys end in a code of the API or a value of a type. */
const DYNAMIC_KEYS = [
  'alerts', 'api', 'audit.changes', 'audit.entries', 'audit.events', 'audit.groups', 'audit.outcomes', 'audit.via', 'draws.beacon.status', 'draws.limits', 'events.beacons', 'events.clockChanges', 'events.confirm', 'events.orders', 'events.phases', 'events.preview', 'fields', 'integration.leads',
  'integration.names', 'integration.notes', 'integration.titles', 'invitations.actions', 'invitations.effects', 'invitations.questions', 'invitations.states', 'jobQueues.kinds', 'jobs.reasons', 'jobs.resolutions', 'jobs.states', 'layout.roles', 'layout.schemes', 'live.actions', 'live.advice', 'live.done', 'live.ranges', 'live.titles', 'modes', 'oidc.problems', 'protection.classes', 'protection.exceeds', 'protection.identityKinds', 'protection.mark', 'protection.modes', 'protection.proofCounts', 'protection.proofModes', 'protection.reasons', 'report.metrics', 'report.notes', 'roles.names', 'roles.permissions', 'rules.actions', 'rules.bounds', 'rules.headerTests', 'rules.onFailure', 'rules.outcomes',
  'rules.pairs', 'rules.readingOutcomes', 'settings.failures', 'settings.handovers', 'settings.preflightsKinds', 'settings.statuses', 'setup.connect',
  'setup.steps', 'sessions.leads', 'sessions.none', 'sessions.states', 'themes.states', 'themes.tabs', 'transfer.invalid', 'webhooks.types',
].map((key) => `/^${key.replaceAll('.', '\\.')}\\./`)

export default defineConfigWithVueTs(
  { ignores: ['dist/**', 'package*.json', 'tsconfig*.json', 'src/api/schema.d.ts', 'e2e/results/**'] },
  ...vue.configs['flat/recommended'],
  ...accessibility.configs['flat/recommended'],
  vueTsConfigs.strict,
  vueTsConfigs.stylistic,
  {
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: true }],
      'vue/max-attributes-per-line': ['error', { singleline: 6, multiline: 1 }],
      'vue/singleline-html-element-content-newline': 'off',
      'vue/html-self-closing': ['error', { html: { void: 'never', normal: 'always', component: 'always' } }],
      'vue/require-default-prop': 'off',
      'vue/multi-word-component-names': 'off',
      'vue/no-v-html': 'error',
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/no-unused-emit-declarations': 'error',
      'vue/no-static-inline-styles': 'error',
      // A label names its control by `for`, which BaseField sets.
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
      'vuejs-accessibility/form-control-has-label': 'off',
      // Dialogs choose their initial focus.
      'vuejs-accessibility/no-autofocus': 'off',
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/api/**', 'src/testing/**'],
    rules: {
      'no-restricted-globals': ['error', ...['fetch', 'EventSource', 'XMLHttpRequest'].map((name) => ({ name, message: http }))],
    },
  },
  ...i18n.configs.base,
  {
    files: ['src/**/*.{ts,vue}'],
    settings: { 'vue-i18n': { localeDir: 'src/i18n/locales/*.json', messageSyntaxVersion: '^11.0.0' } },
    rules: { '@intlify/vue-i18n/no-missing-keys': 'error' },
  },
  {
    files: ['src/i18n/locales/*.json'],
    settings: { 'vue-i18n': { localeDir: 'src/i18n/locales/*.json', messageSyntaxVersion: '^11.0.0' } },
    rules: {
      'max-lines': 'off',
      '@intlify/vue-i18n/no-duplicate-keys-in-locale': 'error',
      '@intlify/vue-i18n/valid-message-syntax': 'error',
      // Keys that are built from a code: `t(`modes.${mode}.name`)`.
      '@intlify/vue-i18n/no-unused-keys': ['error', { src: './src', extensions: ['.ts', '.vue'], ignores: DYNAMIC_KEYS }],
    },
  },
  { files: ['**/*.spec.ts', 'e2e/**'], rules: { '@typescript-eslint/no-non-null-assertion': 'off', 'max-lines': 'off' } },
  { files: ['src/stores/*.ts'], ignores: ['**/*.spec.ts'], rules: { 'max-lines': ['error', 150] } },
)
