import { defineConfigWithVueTs, vueTsConfigs } from '@vue/eslint-config-typescript'
import vue from 'eslint-plugin-vue'
import accessibility from 'eslint-plugin-vuejs-accessibility'

const http = 'HTTP is spoken in src/services alone.'

export default defineConfigWithVueTs(
  { ignores: ['dist/**', 'src/services/schema.d.ts', 'e2e/results/**'] },
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
      // A label names its control by `for`, which VField sets.
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
      'vuejs-accessibility/form-control-has-label': 'off',
      // Dialogs say themselves where the focus goes.
      'vuejs-accessibility/no-autofocus': 'off',
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/services/**', 'src/testing/**'],
    rules: {
      'no-restricted-globals': ['error', ...['fetch', 'EventSource', 'XMLHttpRequest'].map((name) => ({ name, message: http }))],
    },
  },
  { files: ['**/*.spec.ts', 'e2e/**'], rules: { '@typescript-eslint/no-non-null-assertion': 'off', 'max-lines': 'off' } },
  { files: ['src/stores/*.ts'], ignores: ['**/*.spec.ts'], rules: { 'max-lines': ['error', 150] } },
)
