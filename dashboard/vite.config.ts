import vueI18n from '@intlify/unplugin-vue-i18n/vite'
import vue from '@vitejs/plugin-vue'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Where the admin address of a running `vestibule serve` is, for `npm run dev` and `npm run preview`. */
const api = process.env.VESTIBULE_ADMIN ?? 'http://127.0.0.1:9000'
const proxy = { '/api': { target: api } }

/** What the program sends with the dashboard, so that `npm run preview` shows what it would forbid. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export default defineConfig({
  plugins: [vue(), vueI18n({ include: fileURLToPath(new URL('./src/i18n/locales/*.json', import.meta.url)) })],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  define: { __VUE_OPTIONS_API__: false },
  build: {
    target: 'es2022',
    // The policy under which the dashboard is served allows neither data: addresses nor scripts in the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // The specs compare what the dashboard shows with what the documentation explains.
  server: { proxy, fs: { allow: ['.', '../docs'] } },
  preview: { proxy, headers: { 'content-security-policy': policy } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.spec.ts'],
    setupFiles: ['src/testing/setup.ts'],
    restoreMocks: true,
    // Two cores are shared with whatever else is being built.
    maxWorkers: 2,
  },
})
