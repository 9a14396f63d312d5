import vueI18n from '@intlify/unplugin-vue-i18n/vite'
import vue from '@vitejs/plugin-vue'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Admin address of a running `vestibule serve`, for `npm run dev` and `npm run preview`. */
const api = process.env.VESTIBULE_ADMIN ?? 'http://127.0.0.1:9000'
const proxy = { '/api': { target: api } }

/** The policy that the program sends with the dashboard. `npm run preview` sends it too, to show violations. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export default defineConfig({
  plugins: [vue(), vueI18n({ include: fileURLToPath(new URL('./src/i18n/locales/*.json', import.meta.url)) })],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  define: { __VUE_OPTIONS_API__: false },
  build: {
    target: 'es2022',
    // The policy allows neither data: URLs nor inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // A spec compares the snippets with the documentation.
  server: { proxy, fs: { allow: ['.', '../docs'] } },
  preview: { proxy, headers: { 'content-security-policy': policy } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.spec.ts'],
    setupFiles: ['src/testing/setup.ts'],
    restoreMocks: true,
    // The machine may have only two cores.
    maxWorkers: 2,
  },
})
