// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.config.ConfigurationNames;
import java.beans.PropertyDescriptor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.InvalidPropertyException;
import org.springframework.beans.MethodInvocationException;
import org.springframework.beans.NotWritablePropertyException;
import org.springframework.beans.PropertyAccessException;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.CannotLoadBeanClassException;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.xml.XmlBeanDefinitionStoreException;

/** Turns Spring's nested errors into one paragraph: file, bean, property, value, what was expected. */
final class SpringErrors {
    private static final Pattern PLACEHOLDER = Pattern.compile("Could not resolve placeholder '([^']+)'");

    private SpringErrors() {}

    static String explain(Path file, Throwable error) {
        List<Throwable> chain = chain(error);
        for (Throwable cause : chain) {
            String what = describe(cause);
            if (what != null) {
                return file + ": " + where(chain, cause) + what;
            }
        }
        Throwable root = chain.get(chain.size() - 1);
        return file + ": " + where(chain, root) + root.getMessage();
    }

    private static @Nullable String describe(Throwable cause) {
        if (cause instanceof NotWritablePropertyException wrong) {
            return unknownProperty(wrong.getBeanClass(), wrong.getPropertyName());
        }
        if (cause instanceof XmlBeanDefinitionStoreException wrong) {
            Throwable parser = wrong.getCause() == null ? wrong : wrong.getCause();
            return "line " + wrong.getLineNumber() + " is no valid Spring XML: " + parser.getMessage();
        }
        if (cause instanceof CannotLoadBeanClassException wrong) {
            return "class " + wrong.getBeanClassName()
                    + " is not on the class path (expected: the full name of a class)";
        }
        if (cause instanceof NoSuchBeanDefinitionException wrong) {
            return "no bean is called " + wrong.getBeanName();
        }
        Matcher placeholder = PLACEHOLDER.matcher(String.valueOf(cause.getMessage()));
        if (cause instanceof IllegalArgumentException && placeholder.find()) {
            return "nothing sets ${" + placeholder.group(1) + "} (expected: the option -D" + placeholder.group(1)
                    + "=VALUE, or the environment variable "
                    + placeholder.group(1).toUpperCase(Locale.ROOT).replace('.', '_') + ")";
        }
        if (cause instanceof MooncakeException wrong) {
            return wrong.getMessage();
        }
        if (cause instanceof PropertyAccessException wrong && !(cause instanceof MethodInvocationException)) {
            return "property " + wrong.getPropertyName() + ": " + wrong.getValue() + " (expected: " + expected(wrong)
                    + ")";
        }
        if (cause instanceof InvalidPropertyException wrong) {
            return "property " + wrong.getPropertyName() + " of "
                    + wrong.getBeanClass().getName() + ": " + wrong.getMessage();
        }
        return null;
    }

    private static String unknownProperty(Class<?> bean, String name) {
        List<String> valid = Arrays.stream(BeanUtils.getPropertyDescriptors(bean))
                .filter(property -> property.getWriteMethod() != null)
                .map(PropertyDescriptor::getName)
                .sorted()
                .toList();
        Optional<String> nearest = ConfigurationNames.nearest(name, valid);
        String hint = nearest.map(near -> "; did you mean " + near + "?").orElse("");
        // Ignite's own beans have over a hundred properties: the nearest one is the answer there, a list would hide it.
        String listed = valid.size() <= 40 ? " (expected: one of " + String.join(", ", valid) + ")" : "";
        return "unknown property " + name + " of " + bean.getName() + listed + hint;
    }

    private static String expected(PropertyAccessException wrong) {
        if (wrong instanceof org.springframework.beans.TypeMismatchException mismatch
                && mismatch.getRequiredType() != null) {
            Class<?> type = mismatch.getRequiredType();
            return type.isEnum()
                    ? "one of " + Arrays.toString(type.getEnumConstants()).replaceAll("[\\[\\]]", "")
                    : "a value of type " + type.getSimpleName();
        }
        Throwable cause = wrong.getCause();
        return String.valueOf((cause == null ? wrong : cause).getMessage());
    }

    /** The bean the error belongs to: the innermost one named before {@code cause}. */
    private static String where(List<Throwable> chain, Throwable cause) {
        String bean = "";
        for (Throwable link : chain) {
            if (link instanceof BeanCreationException creation && creation.getBeanName() != null) {
                bean = "bean " + creation.getBeanName().replaceAll("#[0-9a-f]+$", "") + ": ";
            }
            if (link == cause) {
                break;
            }
        }
        return bean;
    }

    /** Causes from outside in; where Spring collected several property errors, the first of them is followed. */
    private static List<Throwable> chain(Throwable error) {
        List<Throwable> chain = new ArrayList<>();
        Throwable next = error;
        while (next != null && chain.size() < 50 && !chain.contains(next)) {
            chain.add(next);
            if (next instanceof org.springframework.beans.PropertyBatchUpdateException batch
                    && batch.getExceptionCount() > 0) {
                next = batch.getPropertyAccessExceptions()[0];
            } else {
                next = next.getCause();
            }
        }
        return chain;
    }
}
