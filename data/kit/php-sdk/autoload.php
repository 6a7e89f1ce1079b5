<?php

/** For sites without Composer: loads the classes of the namespace Portcullis\ from src/. */

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (!str_starts_with($class, 'Portcullis\\')) {
        return;
    }
    $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen('Portcullis\\'))) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
